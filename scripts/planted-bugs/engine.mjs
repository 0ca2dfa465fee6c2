// Mistakes in what core does above the stores. They are hunted with the tests of the SQLite store, whose scenarios use all of
// it. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src");
export const engineBugs = bugs;

plant("engine/operation.ts", [
  [
    "withNotify publishes before the commit of the transaction around it",
    ["if (!handOver(engine, afterCommit)) afterCommit.publish();", "afterCommit.publish();"],
  ],
  [
    "withNotify inside a transaction publishes nothing",
    [
      "if (!handOver(engine, afterCommit)) afterCommit.publish();",
      "if (!engine.scope.getStore()) afterCommit.publish();",
    ],
  ],
]);

plant("jobs/query.ts", [
  [
    "the jobs of a sequence are listed under any type",
    ['if (page.jobs.length > 0) checkType(options["typeName"], page.jobs[0]!.sequenceTypeName);', ""],
  ],
]);

plant("worker/settings.ts", [
  ["a worker leaves a store that failed alone for 30 seconds", ["longestMs: 1_000 }", "longestMs: 30_000 }"]],
]);

plant("worker/worker.ts", [
  ["a short run takes longer than its deadline", ["latestEnd ?? Math.max(deadline,", "Math.max(deadline,"]],
]);

plant("worker/maintenance.ts", [
  ["a worker that sleeps reaps", ["isPostponed = sleep.isAsleep;", "isPostponed = false;"]],
]);

plant("jobs/view.ts", [
  [
    "complete returns the job with the progress of an earlier attempt",
    ['progress === undefined ? job["progress"]', 'progress !== null ? job["progress"]'],
  ],
]);

plant("jobs/complete.ts", [
  [
    "a job is deleted although a process waits for it",
    ["isDiscardable(job) && !listening.isAwaited(job.sequenceId)", "isDiscardable(job)"],
  ],
]);

plant("engine/lost-replies.ts", [
  [
    "a repeated completion that has deleted its job is taken for a lost lease",
    ["isNotFound(result) && asksToDiscard(outcomes[index]!)", "false"],
  ],
  [
    "a transaction that has deleted its job is taken for rolled back",
    ["if (areDiscarded && areLeasesValid())", "if (false)"],
  ],
  [
    "a start is repeated after its job has run and vanished",
    ["if (!jobs.some(store.mayVanish)) return undefined;", "if (jobs.length > 0) return undefined;"],
  ],
]);

plant("notify/awaited.ts", [
  ["a process that waits is forgotten", ["      announced.add(ids);\n", ""]],
  ["a wait that began too late is not answered", ["unpublished.take(ids)", "unpublished.take([])"]],
]);

plant("worker/committer.ts", [
  [
    "a job is deleted under a start that is on its way",
    ["entry.wasSent || held.origin?.hasStarted", "entry.wasSent"],
  ],
  [
    "a completion that finds its job deleted is always taken for its own",
    ["if (batch.some(({ wasSent }) => wasSent))", "if (batch.length > 0)"],
  ],
]);

plant("worker/transactions.ts", [
  [
    "a transaction that was rolled back is taken for one that may have deleted its job",
    ["if (store.isConflictRollback(error)) unknown = undefined;", ""],
  ],
]);
