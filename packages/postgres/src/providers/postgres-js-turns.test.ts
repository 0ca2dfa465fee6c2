import postgres from "postgres";
import { afterAll, expect, inject, it } from "vitest";
import { createPostgresJsStateProvider } from "./postgres-js.ts";

const sql = postgres(inject("postgres15Url"), { max: 2, fetch_types: false, onnotice: () => {} });

afterAll(() => sql.end({ timeout: 5 }));

it("begins no transaction behind the statements of a busy connection", { timeout: 60_000 }, async () => {
  const provider = createPostgresJsStateProvider({ sql });
  const run = (text: string): Promise<unknown> => provider.executeSql(undefined, { sql: text, params: [] });
  const onBoth = (text: string): Promise<unknown> => Promise.all([run(text), run(text)]);
  const inTransaction = (): Promise<unknown> =>
    provider.runInTransaction((ctx) => provider.executeSql(ctx, { sql: "SELECT 2 AS n", params: [] }));
  // Opens both connections.
  await onBoth("SELECT pg_sleep(0.1)::text");
  const slow = onBoth("SELECT pg_sleep(0.5)::text");
  // With these, each connection has all but one of the queries that the library sends ahead of replies.
  const plain = Array.from({ length: 198 }, () => run("SELECT 1 AS n"));
  await new Promise((resolve) => setImmediate(resolve));
  const transactions = Array.from({ length: 3 }, inTransaction);
  const results = await Promise.allSettled([slow, ...plain, ...transactions]);
  expect(results.filter(({ status }) => status === "rejected")).toEqual([]);
  // In a transaction that was left open, the time would be that of its beginning.
  for (const [row] of await Promise.all(
    Array.from({ length: 4 }, () => sql.unsafe("SELECT now() = statement_timestamp() AS is_alone")),
  ))
    expect(row).toEqual({ is_alone: true });
});
