import { notifyAdapterConformance } from "leasehold/testing";
import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, inject, it } from "vitest";
import { createPgNotifyAdapter } from "./notify-adapter.ts";
import { createPgNotifyProvider } from "./providers/pg-notify.ts";
import { createPostgresJsNotifyProvider } from "./providers/postgres-js-notify.ts";
import { newSchemaName } from "./testing/fixtures.ts";

const runner = { describe, it, afterAll };

describe("through pg", () => {
  notifyAdapterConformance(runner, {
    countsHints: false,
    create: async () => {
      const pool = new pg.Pool({ connectionString: inject("postgres18Url") });
      const channelPrefix = newSchemaName();
      const create = (): ReturnType<typeof createPgNotifyAdapter> =>
        createPgNotifyAdapter({ notifyProvider: createPgNotifyProvider({ pool }), channelPrefix });
      const [adapter, peer] = [await create(), await create()];
      return {
        adapter,
        peer,
        destroy: async () => {
          await Promise.all([adapter.close(), peer.close()]);
          await pool.end();
        },
      };
    },
  });
});

describe("through postgres", () => {
  notifyAdapterConformance(runner, {
    countsHints: false,
    create: async () => {
      const sql = postgres(inject("postgres15Url"), { onnotice: () => {} });
      const channelPrefix = newSchemaName();
      const create = (): ReturnType<typeof createPgNotifyAdapter> =>
        createPgNotifyAdapter({ notifyProvider: createPostgresJsNotifyProvider({ sql }), channelPrefix });
      const [adapter, peer] = [await create(), await create()];
      return {
        adapter,
        peer,
        destroy: async () => {
          await Promise.all([adapter.close(), peer.close()]);
          await sql.end();
        },
      };
    },
  });
});
