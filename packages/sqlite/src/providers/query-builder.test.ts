import { drizzle } from "drizzle-orm/sqlite-proxy";
import { Kysely, SqliteDialect } from "kysely";
import { stateAdapterConformance } from "leasehold/testing";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { sampled } from "../testing/sampled.ts";
import type { SqliteStateProvider } from "../database/provider.ts";
import { createDrizzleProxy, createDrizzleStateProvider } from "./drizzle.ts";
import { createKyselyStateProvider } from "./kysely.ts";

type Handle = InstanceType<typeof Database>;

const kyselyOver = (database: Handle) => new Kysely({ dialect: new SqliteDialect({ database }) });

const drizzleOver = (database: Handle) => drizzle(createDrizzleProxy(database));

describe.each<[string, 0 | 1, (database: Handle) => SqliteStateProvider]>([
  ["Kysely", 0, (database: Handle) => createKyselyStateProvider({ db: kyselyOver(database), database })],
  ["Drizzle", 1, (database: Handle) => createDrizzleStateProvider({ db: drizzleOver(database), database })],
])("through %s", (_name, part, createProvider) => {
  stateAdapterConformance(sampled(part), {
    create: async () => {
      const database = new Database(":memory:");
      const adapter = await createSqliteStateAdapter<object>({ stateProvider: createProvider(database) });
      const destroy = async (): Promise<void> => {
        await adapter.close();
        database.close();
      };
      return { adapter, destroy };
    },
  });
});

describe.each<[string, (options: never) => unknown, (database: Handle) => object]>([
  ["Kysely", createKyselyStateProvider, kyselyOver],
  ["Drizzle", createDrizzleStateProvider, drizzleOver],
])("the provider for %s", (_name, create, createDb) => {
  const database = new Database(":memory:");
  const db = createDb(database);
  it.each([
    ["db", { database }],
    ["db", { database, db: database }],
    ["database", { db }],
    ["database", { db, database: "shop.db" }],
    ["reader", { db, database, reader: "shop.db" }],
  ])("refuses a wrong %s", (option, options) => {
    expect(() => create(options as never)).toThrow(
      expect.objectContaining({ code: "InvalidOption", option }),
    );
  });
});
