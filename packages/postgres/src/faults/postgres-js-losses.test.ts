import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import {
  createPostgresJsStateProvider,
  type PostgresJsTransactionContext,
} from "../providers/postgres-js.ts";
import { startTcpProxy, type TcpProxy } from "../testing/tcp-proxy.ts";
import { isTransientPgError } from "../database/errors.ts";

type Context = PostgresJsTransactionContext<postgres.TransactionSql>;

const size = 3;
const losses = 200;
const patienceMs = 5_000;

let proxy: TcpProxy;
beforeAll(async () => {
  proxy = await startTcpProxy(inject("postgres18Url"));
});
afterAll(() => proxy.close());

const openPool = () => {
  const sql = postgres(proxy.url, {
    max: size,
    // So that the proxy can read every statement.
    prepare: false,
    fetch_types: false,
    backoff: () => 0,
    connect_timeout: 2,
    onnotice: () => {},
  });
  return { sql, provider: createPostgresJsStateProvider({ sql }) };
};
type Provider = ReturnType<typeof openPool>["provider"];

const inTime = async <T>(what: string, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${patienceMs} ms`)), patienceMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

const select = (value: number) => ({ sql: `SELECT ${value} AS value`, params: [] });
const has = (text: string) => (request: string) => request.includes(text);

interface Kind {
  readonly lose: () => Promise<void>;
  readonly run: (provider: Provider) => Promise<unknown>;
}

const inTransaction =
  (work: (provider: Provider, ctx: Context) => Promise<unknown>): Kind["run"] =>
  (provider) =>
    provider.runInTransaction((ctx) => work(provider, ctx as Context));

const withSavepoint = inTransaction((provider, ctx) =>
  provider.runInSavepoint!((inner) => provider.executeSql(inner, select(1)), ctx),
);

const several = (values: readonly string[]) =>
  inTransaction((provider, ctx) =>
    Promise.all(values.map((value) => provider.executeSql(ctx, { sql: `SELECT ${value}`, params: [1] }))),
  );

/** How a connection is lost, and what is done with it. */
const kinds: Record<string, Kind> = {
  "at BEGIN": { lose: () => proxy.loseRequest(has("begin")), run: withSavepoint },
  "after BEGIN": { lose: () => proxy.loseReply(has("begin")), run: withSavepoint },
  "at a savepoint": { lose: () => proxy.loseRequest(has("savepoint")), run: withSavepoint },
  "after a savepoint": { lose: () => proxy.loseReply(has("savepoint")), run: withSavepoint },
  "at a statement": { lose: () => proxy.loseRequest(has("SELECT 1")), run: withSavepoint },
  "after a statement": { lose: () => proxy.loseReply(has("SELECT 1")), run: withSavepoint },
  "at COMMIT": { lose: () => proxy.loseRequest(has("commit")), run: withSavepoint },
  "after COMMIT": { lose: () => proxy.loseReply(has("commit")), run: withSavepoint },
  "at a statement whose error is caught": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: inTransaction(async (provider, ctx) => {
      await provider.executeSql(ctx, select(7)).catch(() => {});
      await provider.executeSql(ctx, select(8));
    }),
  },
  "at a savepoint whose error is caught": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: inTransaction(async (provider, ctx) => {
      const inner = provider.runInSavepoint!((nested) => provider.executeSql(nested, select(7)), ctx);
      await inner.catch(() => {});
      await provider.executeSql(ctx, select(8));
    }),
  },
  "at a savepoint of the library": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: inTransaction(async (_provider, { sql }) => {
      await sql.savepoint((inner) => [inner`SELECT 7`, inner`SELECT 8`]).catch(() => {});
      await sql`SELECT 9`;
    }),
  },
  "at a query that was made before": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: inTransaction(async (_provider, { sql }) => {
      const next = sql`SELECT 8`;
      await sql`SELECT 7`.catch(() => {});
      await next;
    }),
  },
  "at one of several statements": {
    lose: () => proxy.loseRequest(has("7 + ")),
    run: several(["7 + $1::int", "8 + $1::int", "9 + $1::int"]),
  },
  "while it does nothing": {
    lose: async () => {},
    run: inTransaction(async (provider, ctx) => {
      await provider.executeSql(ctx, select(7));
      proxy.cut();
      await provider.executeSql(ctx, select(8));
    }),
  },
  "while it does nothing, and fails for another reason": {
    lose: async () => {},
    run: inTransaction(async (provider, ctx) => {
      await provider.executeSql(ctx, select(7));
      proxy.cut();
      await new Promise((resolve) => setImmediate(resolve));
      throw Object.assign(new Error("something else"), { code: "57014" });
    }),
  },
  "outside a transaction": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: (provider) => provider.executeSql(undefined, select(7)),
  },
  "in a context outside a transaction": {
    lose: () => proxy.loseRequest(has("SELECT 7")),
    run: (provider) => provider.provideContext((ctx) => provider.executeSql(ctx, select(7))),
  },
  "everywhere, and tries again at once": {
    lose: async () => {},
    run: async (provider) => {
      await provider.executeSql(undefined, select(1));
      const again = inTransaction((_provider, ctx) => provider.executeSql(ctx, select(8)));
      const first = inTransaction(async (_provider, ctx) => {
        await provider.executeSql(ctx, select(7));
        proxy.cut();
        await provider.executeSql(ctx, select(8));
      });
      const error = await first(provider).catch((reason: unknown) => reason);
      await again(provider).catch(() => {});
      throw error;
    },
  },
};

/** As many transactions at once as there are connections. Each gets its own answers, and each has a connection of its own. */
const allAnswer = async (provider: Provider): Promise<void> => {
  let arrived = 0;
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const answers = Array.from({ length: size }, (_, index) =>
    provider.runInTransaction(async (ctx) => {
      expect(await provider.executeSql(ctx, select(100 + index))).toEqual([{ value: 100 + index }]);
      arrived += 1;
      if (arrived === size) open();
      await gate;
      expect(await provider.executeSql(ctx, select(200 + index))).toEqual([{ value: 200 + index }]);
    }),
  );
  await Promise.all(answers);
};

/** The library reports the end of a connection once more to whoever uses it next. */
const allAnswerSoon = async (provider: Provider): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await allAnswer(provider);
    } catch (error) {
      if (tries > size || !isTransientPgError(error)) throw error;
    }
  }
};

describe("postgres.js, when connections are reset", () => {
  it.each(Object.keys(kinds))("keeps every connection of its pool: %s", { timeout: 60_000 }, async (name) => {
    const { lose, run } = kinds[name]!;
    const { sql, provider } = openPool();
    await allAnswer(provider);
    const rounds = Math.ceil(losses / Object.keys(kinds).length);
    for (let round = 1; round <= rounds; round += 1) {
      const lost = lose();
      const results = await inTime(
        `round ${round}`,
        Promise.allSettled(Array.from({ length: size }, () => run(provider))),
      );
      await inTime(`the loss of round ${round}`, lost);
      const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      expect(reasons.length).toBeGreaterThan(0);
      for (const reason of reasons) expect(reason).toSatisfy(isTransientPgError);
      await inTime(`the pool after round ${round}`, allAnswerSoon(provider));
    }
    await inTime("the end", sql.end());
  });
});

it("takes no answer for the first statement of a connection to one of several hosts that was lost", async () => {
  const { host } = new URL(proxy.url);
  const url = proxy.url.replace(host, `${host},${host}`);
  const sql = postgres(url, { max: 1, fetch_types: false, backoff: () => 0 });
  const provider = createPostgresJsStateProvider({ sql });
  const lost = proxy.loseReply(has("SELECT 7"));
  const first = provider.executeSql(undefined, select(7)).catch((error: unknown) => error);
  await lost;
  // It connects again.
  expect(await provider.executeSql(undefined, select(8))).toEqual([{ value: 8 }]);
  expect(await inTime("the first statement", first)).toSatisfy(isTransientPgError);
  await sql.end({ timeout: 0 });
});
