import * as fc from "fast-check";
import {
  modelConformance,
  scenarioConformance,
  stateAdapterConformance,
  transactionStories,
} from "leasehold/testing";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { createPgNotifyAdapter } from "./notify/notify-adapter.ts";
import { createPostgresJsNotifyProvider } from "./providers/postgres-js-notify.ts";
import { createPostgresJsFixture } from "./testing/fixtures.ts";
import { reuseStores } from "./testing/reuse-stores.ts";
import { createRoleWithDefault, type RoleWithDefault } from "./testing/role-with-default.ts";
import { sampled } from "./testing/sampled.ts";

const runner = { describe, it, afterAll };

const create = (): ReturnType<typeof createPostgresJsFixture> =>
  createPostgresJsFixture(inject("postgres15Url"));

describe("PostgreSQL 15 through postgres", () => {
  stateAdapterConformance(sampled(0), { create: reuseStores(create) });
  modelConformance(runner, { create }, { fc, runs: 30 });
  const withNotifications = {
    // With notifications, the scenarios must not depend on polling.
    pollIntervalMs: 1_000,
    create: async () => {
      const { adapter, sql, schema, destroy } = await create();
      const notifyAdapter = await createPgNotifyAdapter({
        notifyProvider: createPostgresJsNotifyProvider({ sql }),
        channelPrefix: schema,
      });
      return {
        stateAdapter: adapter,
        notifyAdapter,
        destroy: async () => {
          await notifyAdapter.close();
          await destroy();
        },
      };
    },
  };
  scenarioConformance(runner, withNotifications, {
    only: [
      ...transactionStories,
      "notifications",
      "waiting",
      "jobs that wait",
      "blockers",
      "continuations",
      "queues",
      "groups and limits",
    ],
  });
});

describe("PostgreSQL 18 through postgres, as a role with serializable", () => {
  let role: RoleWithDefault;
  beforeAll(async () => {
    role = await createRoleWithDefault(inject("postgres18Url"), "serializable");
  });
  afterAll(() => role.drop());

  const createAsRole = (): ReturnType<typeof createPostgresJsFixture> => createPostgresJsFixture(role.url);
  stateAdapterConformance(sampled(2), { create: reuseStores(createAsRole) });
  modelConformance(runner, { create: createAsRole }, { fc, runs: 8 });
  const polling = {
    create: async () => {
      const { adapter, destroy } = await createAsRole();
      return { stateAdapter: adapter, destroy };
    },
  };
  scenarioConformance(runner, polling, { only: transactionStories });
});
