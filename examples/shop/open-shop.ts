import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "@leasehold/sqlite";
import { createInProcessNotifyAdapter, createLeasehold, type Leasehold } from "leasehold";
import { jobTypes, type ShopJobTypes } from "./job-types.ts";
import type { Story } from "./story.ts";

export type ShopLeasehold = Leasehold<ShopJobTypes, SqliteStateAdapter>;

export interface Shop {
  readonly leasehold: ShopLeasehold;
  readonly stateAdapter: SqliteStateAdapter;
  close(): Promise<void>;
}

const tables = `
  CREATE TABLE IF NOT EXISTS shop_order (id INTEGER PRIMARY KEY, item TEXT, cents INTEGER, status TEXT);
  CREATE TABLE IF NOT EXISTS shop_stock (item TEXT PRIMARY KEY, sold INTEGER NOT NULL DEFAULT 0);
`;

/** The shop's own tables and its jobs live in one file, and change in one transaction. */
export const openShop = async (file: string, story: Story): Promise<Shop> => {
  mkdirSync(dirname(file), { recursive: true });
  const stateAdapter = await createSqliteStateAdapter({ file });
  await stateAdapter.provideContext(async ({ client }) => client.exec(tables));
  const notifyAdapter = createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({
    stateAdapter,
    notifyAdapter,
    jobTypes,
    observabilityAdapter: story.observe,
    recurringJobs: {
      owner: "shop",
      removeOthers: true,
      jobs: [{ id: "count-stock", everyMs: 2_000, job: { typeName: "count-stock" } }],
    },
  });
  // The payment provider takes no more than 20 calls at once, over however many workers.
  await leasehold.limits.set({ queue: "payments", concurrency: 20 });
  return {
    leasehold,
    stateAdapter,
    close: async () => {
      await notifyAdapter.close();
      await stateAdapter.close();
    },
  };
};
