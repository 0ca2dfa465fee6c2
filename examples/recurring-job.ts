// Jobs by a cron expression and at an interval: declared in code, put at run time, previewed, paused, triggered.
import { pathToFileURL } from "node:url";
import { defineUnionJobTypes } from "leasehold";
import { createTestKit } from "leasehold/testing";

const jobTypes = defineUnionJobTypes<{
  "nightly-report": { input: { country: string }; output: null };
  "sync-account": { input: { accountId: string }; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  // In production: createLeasehold({ stateAdapter, jobTypes, recurringJobs: … })
  const kit = await createTestKit({
    jobTypes,
    // #region declared
    recurringJobs: {
      owner: "shop", // programs that share a store keep apart by this name
      removeOthers: true, // delete what "shop" declared before and does not name any more
      jobs: [
        {
          id: "nightly-report",
          cron: "30 2 * * *",
          timeZone: "Europe/Berlin",
          job: { typeName: "nightly-report", input: { country: "DE" } },
        },
      ],
    },
    // #endregion
  });
  const { leasehold } = kit;

  // #region handler
  const worker = leasehold
    .createWorker()
    .implementJobType({
      typeName: "nightly-report",
      process: async ({ job }) => {
        // The night that this run is for, however late it begins.
        print(`Report of ${job.recurrence?.nominalAt.toISOString()} for ${job.input.country}`);
        return null;
      },
    })
    .implementJobType({
      typeName: "sync-account",
      process: async ({ job }) => {
        print(`Synced ${job.input.accountId}, ${job.recurrence?.missed ?? 0} times missed`);
        return null;
      },
    });
  // #endregion

  // #region put
  await leasehold.recurring.put({
    id: "sync a-1",
    everyMs: 3_600_000,
    job: { typeName: "sync-account", input: { accountId: "a-1" }, priority: -1 },
    overlap: "skip", // while the last sync has not finished
    catchUp: "last", // after an outage, once
    jitterMs: 0, // or up to this much later, to spread the load
  });
  // #endregion

  // #region preview
  const times = await leasehold.recurring.preview({
    cron: "30 2 * * *",
    timeZone: "Europe/Berlin",
    from: new Date("2030-03-30T00:00:00Z"),
    count: 3,
  });
  for (const { local } of times) print(local);
  // #endregion

  // Time passes without a worker, and then with one.
  await kit.clock.advanceBy(2.5 * 3_600_000);
  await kit.advance(worker, 1_000);

  // #region operate
  await leasehold.recurring.pause({ id: "sync a-1" });
  const { result } = await leasehold.recurring.trigger({ id: "sync a-1" }); // now, paused or not
  await leasehold.recurring.resume({ id: "sync a-1" });
  // #endregion
  print(result);
  await kit.advance(worker, 1_000);

  // #region read
  const sync = await leasehold.recurring.get({ id: "sync a-1" });
  print(`next ${sync?.nextAt?.toISOString()}`);
  for (const { result: became, count } of sync?.recent ?? []) print(`${became} ${count}`); // newest first
  // #endregion
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
