// Reading what is there: one job, pages of jobs, counts, and the answer to "why is it not running?".
import { pathToFileURL } from "node:url";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{
  "index-page": { input: { page: number }; output: null };
  "clean-up": { input: null; output: null };
}>();

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  await leasehold.startJobSequences({
    sequences: [1, 2, 3].map((page) => ({ typeName: "index-page" as const, input: { page } })),
  });
  const later = await leasehold.startJobSequence({
    typeName: "clean-up",
    schedule: { at: new Date("2099-01-01T00:00:00Z") },
  });

  // #region list
  const filter = { typeName: "index-page", order: "oldest", limit: 2 } as const;
  let page = await leasehold.jobs.list(filter);
  for (;;) {
    print(`A page of ${page.jobs.map((job) => job.input.page).join(", ")}`);
    if (page.cursor === null) break;
    page = await leasehold.jobs.list({ ...filter, cursor: page.cursor });
  }
  // #endregion

  // #region count
  for (const row of await leasehold.jobs.count({ status: "pending" })) print(`${row.typeName}: ${row.count}`);
  // #endregion

  // #region explain
  const [last] = (await leasehold.jobs.list({ typeName: "index-page", limit: 1 })).jobs;
  const waiting = await leasehold.jobs.explain({ id: last!.id });
  if (waiting.state === "runnable") print(`Runnable, with ${waiting.aheadInQueue} ahead of it`);
  print((await leasehold.jobs.explain({ id: later.id })).summary);
  // #endregion

  // #region delete
  const { changed: deleted } = await leasehold.deleteJobSequences({
    rootSequenceIds: [later.rootSequenceId],
  });
  print(`Deleted: ${deleted[0]?.jobs}`);
  const pruned = await leasehold.jobs.prune({ olderThanMs: 30 * 24 * 3_600_000 });
  print(`Finished more than 30 days ago: ${pruned.deletedJobs}`);
  // #endregion

  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
