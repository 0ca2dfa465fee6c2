import type { AnyStateAdapter } from "leasehold/adapter";
import { expect } from "vitest";
import { rights } from "../http/rights.ts";
import type { DashboardOptions } from "../create-dashboard.ts";
import { openShop } from "./open-shop.ts";

/** A shop with jobs in every state but running, a recurring job and a limit. Its worker has stopped. */
export const openBusyShop = async (
  stateAdapter: AnyStateAdapter,
  options: Partial<DashboardOptions> = {},
) => {
  const shop = await openShop(rights, options, stateAdapter);
  const { leasehold, startWorker } = shop;
  if (stateAdapter.recurring !== undefined) {
    await leasehold.recurring.put({
      id: "nightly",
      cron: "30 2 * * *",
      timeZone: "Europe/Berlin",
      job: { typeName: "mail", input: { to: "ada" } },
    });
  }
  if (stateAdapter.limits !== undefined) await leasehold.limits.set({ queue: "default", concurrency: 5 });
  for (const item of ["broken", "broken", "tea"])
    await leasehold.startJobSequence({ typeName: "order", input: { item, password: "hunter2" } });
  const worker = await startWorker();
  await expect
    .poll(async () => (await leasehold.jobs.list({ status: ["failed", "completed"] })).jobs)
    .toHaveLength(3);
  await worker.stop();
  await leasehold.startJobSequence({
    typeName: "mail",
    input: { to: "ada" },
    deduplication: { key: "welcome" },
  });
  await leasehold.startJobSequence({
    typeName: "mail",
    input: { to: "bob" },
    schedule: { afterMs: 3_600_000 },
  });
  const failed = (await leasehold.jobs.list()).jobs.find(({ status }) => status === "failed");
  if (failed === undefined) throw new Error("No job has failed.");
  return { ...shop, failedId: failed.id };
};
