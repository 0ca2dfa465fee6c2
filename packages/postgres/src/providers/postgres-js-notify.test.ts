import postgres from "postgres";
import { expect, inject, it } from "vitest";
import { isTransientPgError } from "../database/errors.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";
import { createPostgresJsNotifyProvider, type PostgresJsNotifyLike } from "./postgres-js-notify.ts";

it("listens again after the listening connection was cut off in a statement", async () => {
  const sql = postgres(inject("postgres18Url"), { max: 1, fetch_types: false, backoff: () => 0 });
  const provider = createPostgresJsNotifyProvider({ sql });
  const channel = newSchemaName();
  const heard: string[] = [];
  let losses = 0;
  const handlers = {
    onMessage: (_channel: string, payload: string) => heard.push(payload),
    onLost: () => (losses += 1),
  };
  await provider.subscribe([channel], handlers);

  const listening = (sql as PostgresJsNotifyLike).listen.sql!;
  const cutOff = listening.unsafe("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)");
  await expect(cutOff).rejects.toSatisfy(isTransientPgError);
  await until(() => losses > 0, "the provider says that the session is gone");

  const subscribe = async (): Promise<boolean> => {
    try {
      await provider.subscribe([channel], handlers);
      return true;
    } catch (error) {
      expect(error).toSatisfy(isTransientPgError);
      return false;
    }
  };
  await until(subscribe, "it listens again", 5_000);
  await provider.publish(channel, ["again"]);
  await until(() => heard.length > 0, "the message has arrived", 5_000);
  expect(heard).toEqual(["again"]);
  await sql.end({ timeout: 0 });
});
