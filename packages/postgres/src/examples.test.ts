import { PGlite, type Transaction as PGliteTransaction } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/node-postgres";
import createKnex from "knex";
import type { Knex } from "knex";
import { Kysely, PostgresDialect, type Transaction as KyselyTransaction } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, expectTypeOf, inject, it } from "vitest";
import * as drizzleExample from "../examples/drizzle.ts";
import { main as drizzleTestKit } from "../examples/drizzle-test-kit.ts";
import * as knexExample from "../examples/knex.ts";
import * as kyselyExample from "../examples/kysely.ts";
import * as pgliteExample from "../examples/pglite.ts";
import { isTransientPgError } from "./database/errors.ts";
import { createDrizzleStateProvider, type DrizzleTransactionOf } from "./providers/drizzle.ts";
import { createKnexStateProvider } from "./providers/knex.ts";
import { createKyselyStateProvider } from "./providers/kysely.ts";
import { ignorePoolErrors } from "./providers/pg-pool.ts";
import { createPGliteStateProvider } from "./providers/pglite.ts";
import { type CompleteContext, describeExample } from "./testing/example-suite.ts";
import { partsTestedThroughDriver } from "./testing/fixtures.ts";

const connectionTo = (url: string, schema: string) => ({
  connectionString: url,
  options: `-c search_path=${schema}`,
});

describeExample({
  name: "Drizzle",
  part: 0,
  key: "tx",
  server: () => inject("postgres18Url"),
  testedElsewhere: partsTestedThroughDriver,
  connect: async (schema, url) => {
    const pool = new pg.Pool(connectionTo(url, schema));
    const db: drizzleExample.Database = drizzle(pool, { schema: drizzleExample.schema });
    return {
      provider: createDrizzleStateProvider({ db }),
      transaction: (callback) => db.transaction((tx) => callback({ tx })),
      placeOrder: (leasehold, order) => drizzleExample.placeOrder(db, leasehold, order),
      createShippingWorker: drizzleExample.createShippingWorker,
      close: () => pool.end(),
    };
  },
});

describeExample({
  name: "Kysely",
  part: 1,
  key: "trx",
  server: () => inject("postgres18Url"),
  testedElsewhere: partsTestedThroughDriver,
  connect: async (schema, url) => {
    const pool = new pg.Pool(connectionTo(url, schema));
    ignorePoolErrors(pool);
    const db = new Kysely<kyselyExample.Database>({ dialect: new PostgresDialect({ pool }) });
    return {
      provider: createKyselyStateProvider({ db }),
      transaction: (callback) => db.transaction().execute((trx) => callback({ trx })),
      placeOrder: (leasehold, order) => kyselyExample.placeOrder(db, leasehold, order),
      createShippingWorker: kyselyExample.createShippingWorker,
      close: () => db.destroy(),
    };
  },
});

describeExample({
  name: "Knex",
  part: 2,
  key: "trx",
  server: () => inject("postgres18Url"),
  testedElsewhere: partsTestedThroughDriver,
  connect: async (schema, url) => {
    const knex = createKnex({
      client: "pg",
      connection: connectionTo(url, schema),
      pool: { min: 0, max: 10 },
      log: { warn: () => {} },
    });
    return {
      provider: createKnexStateProvider({ knex }),
      transaction: (callback) => knex.transaction((trx) => callback({ trx })),
      placeOrder: (leasehold, order) => knexExample.placeOrder(knex, leasehold, order),
      createShippingWorker: knexExample.createShippingWorker,
      close: () => knex.destroy(),
    };
  },
});

describe("Drizzle", () => {
  it("tests the worker of an application on pg over PGlite, without casts", async () => {
    const lines: string[] = [];
    await drizzleTestKit((line) => lines.push(line));
    expect(lines).toEqual(['[{"id":"order-1","address":"1 Main Street","state":"shipped"}]']);
  }, 60_000);
});

describe("Knex", () => {
  it("recognises the error of a pool that stays full", async () => {
    const knex = createKnex({
      client: "pg",
      connection: inject("postgres18Url"),
      pool: { min: 0, max: 1, acquireTimeoutMillis: 20 },
      log: { warn: () => {} },
    });
    const provider = createKnexStateProvider({ knex });
    const waiting = provider.runInTransaction(() =>
      provider.executeSql(undefined, { sql: "SELECT 1", params: [] }),
    );
    await expect(waiting).rejects.toSatisfy(isTransientPgError);
    await knex.destroy();
  });
});

// It takes seconds to start, so all tests share one. Each has its own schema.
let pglite: PGlite;

beforeAll(async () => {
  pglite = await PGlite.create();
}, 120_000);

afterAll(() => pglite.close());

describeExample({
  name: "PGlite",
  part: 0,
  key: "tx",
  testedElsewhere: partsTestedThroughDriver,
  connect: async (schema) => {
    const db = pglite;
    await db.exec(`SET search_path = ${schema}`);
    return {
      provider: createPGliteStateProvider({ db }),
      transaction: (callback) => db.transaction((tx) => callback({ tx })),
      placeOrder: (leasehold, order) => pgliteExample.placeOrder(db, leasehold, order),
      createShippingWorker: pgliteExample.createShippingWorker,
      close: async () => {},
    };
  },
});

expectTypeOf<CompleteContext<drizzleExample.Context>["tx"]>().toEqualTypeOf<
  DrizzleTransactionOf<drizzleExample.Database>
>();

expectTypeOf<CompleteContext<kyselyExample.Context>["trx"]>().toEqualTypeOf<
  KyselyTransaction<kyselyExample.Database>
>();

expectTypeOf<CompleteContext<knexExample.Context>["trx"]>().toEqualTypeOf<Knex.Transaction>();

expectTypeOf<CompleteContext<pgliteExample.Context>["tx"]>().toEqualTypeOf<PGliteTransaction>();
