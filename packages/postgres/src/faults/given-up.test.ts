import { createLeasehold, StoreCallTimeoutError } from "leasehold";
import {
  apiOperations,
  type ApiUnderTest,
  createDeterministicRuntime,
  createManualClock,
} from "leasehold/testing";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { createGate } from "../testing/gate.ts";
import { type UserClient, userClients } from "../testing/user-transactions.ts";

const url = inject("postgres15Url");

const storeDeadlineMs = 10_000;

/** A provider that holds back the answer of one statement, and lists what is sent after `end`. */
const holdAnswer = (provider: PgStateProvider<object, object>, nth: number) => {
  const [reached, answered] = [createGate(), createGate()];
  const late: string[] = [];
  let count = 0;
  let isOver = false;
  const send = (statement: string): void => {
    if (isOver) late.push(statement);
  };
  const hold = async (): Promise<void> => {
    count += 1;
    if (count !== nth) return;
    reached.open();
    await answered.opened;
  };
  const { runInSavepoint } = provider;
  const held: PgStateProvider<object, object> = {
    ...provider,
    executeSql: async (ctx, statement) => {
      send(statement.sql);
      const rows = await provider.executeSql(ctx, statement);
      await hold();
      return rows;
    },
    ...(runInSavepoint && {
      runInSavepoint: async (callback, parent) => {
        send("SAVEPOINT");
        const result = await runInSavepoint(async (ctx) => {
          await hold();
          return callback(ctx);
        }, parent);
        await hold();
        return result;
      },
    }),
  };
  return {
    provider: held,
    reached: reached.opened,
    late,
    end: () => {
      isOver = true;
      answered.open();
    },
  };
};

describe.each(Object.entries(userClients))("a call given up in a transaction of %s", (name, open) => {
  const schema = newSchemaName();
  let client: UserClient;
  let healthy: ApiUnderTest;
  let instances = 0;

  const openLeasehold = async (stateProvider: PgStateProvider<object, object>) => {
    instances += 1;
    const runtime = createDeterministicRuntime({ seed: instances, clock: createManualClock() });
    const leasehold = await createLeasehold({
      stateAdapter: await createPgStateAdapter({ stateProvider, schema, migrate: false }),
      jobTypes: apiOperations.jobTypes,
      runtime,
      statistics: false,
      storeDeadlineMs,
    });
    return { leasehold: leasehold as unknown as ApiUnderTest, clock: runtime.clock };
  };

  beforeAll(async () => {
    client = open(url);
    await createPgStateAdapter({ stateProvider: client.provider, schema });
    ({ leasehold: healthy } = await openLeasehold(client.provider));
  }, 60_000);

  afterAll(async () => {
    await client.close();
    if (name !== "PGlite") await dropSchema(url, schema);
  });

  /** A digest of every table. */
  const digest = async (): Promise<readonly object[]> => {
    const tables = (await client.query(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${schema}' ORDER BY 1`,
    )) as { name: string }[];
    const digestOf = (table: string): string =>
      `SELECT '${table}' AS name, md5(string_agg(t::text, ' ' ORDER BY t::text)) AS digest FROM ${schema}.${table} AS t`;
    const rows = await client.query(tables.map((table) => digestOf(table.name)).join(" UNION ALL "));
    return [...rows];
  };

  /** Lets a call that is still running send its next statement, on whichever connection. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([client.query("SELECT 1"), client.query("SELECT 1")]);
    }
  };

  it.each(apiOperations.writes.map((operation) => [operation.name, operation] as const))(
    "%s leaves nothing behind, whichever of its statements is late",
    { timeout: 120_000 },
    async (_name, { prepare }) => {
      for (let nth = 1, isReached = true; isReached; nth += 1) {
        const call = await prepare(healthy);
        const held = holdAnswer(client.provider, nth);
        const { leasehold, clock } = await openLeasehold(held.provider);
        const before = await digest();
        const transaction = await client.begin();
        const outcome = call(leasehold, transaction.ctx).then(
          () => "done",
          (error: unknown) => error,
        );
        isReached = await Promise.race([held.reached.then(() => true), outcome.then(() => false)]);
        if (isReached) {
          await clock.advanceBy(storeDeadlineMs);
          expect(await outcome, `statement ${nth}`).toBeInstanceOf(StoreCallTimeoutError);
        } else expect(await outcome).toBe("done");
        await transaction.rollBack();
        held.end();
        await settle();
        expect(held.late, `sent after the rollback, when statement ${nth} was late`).toEqual([]);
        expect(await digest(), `when statement ${nth} was late`).toEqual(before);
      }
    },
  );
});
