import { notifyTransportConformance, type NotifyTransportFixture } from "leasehold/testing";
import pg from "pg";
import postgres from "postgres";
import { afterAll, describe, inject, it } from "vitest";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPostgresJsNotifyProvider } from "../providers/postgres-js-notify.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { createPgTransport } from "./notify-adapter.ts";
import type { PgNotifyProvider } from "./provider.ts";

const runner = { describe, it, afterAll };

const fixture = (
  countsHints: boolean,
  open: () => { readonly createProvider: () => PgNotifyProvider; readonly end: () => Promise<void> },
): NotifyTransportFixture => ({
  countsHints,
  create: async () => {
    const { createProvider, end } = open();
    const channelPrefix = newSchemaName();
    const create = () =>
      createPgTransport({
        notifyProvider: createProvider(),
        channelPrefix,
        heartbeatMs: 10_000,
        onError: () => {},
      });
    return { transport: create(), peer: create(), destroy: end };
  },
});

describe("through pg", () => {
  notifyTransportConformance(
    runner,
    fixture(true, () => {
      const pool = new pg.Pool({ connectionString: inject("postgres18Url") });
      return { createProvider: () => createPgPoolNotifyProvider({ pool }), end: () => pool.end() };
    }),
  );
});

describe("through postgres", () => {
  notifyTransportConformance(
    runner,
    // It cannot run a statement on its listening connection.
    fixture(false, () => {
      const sql = postgres(inject("postgres15Url"), { onnotice: () => {} });
      return { createProvider: () => createPostgresJsNotifyProvider({ sql }), end: () => sql.end() };
    }),
  );
});
