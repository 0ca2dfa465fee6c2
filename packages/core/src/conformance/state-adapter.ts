import type { ConformanceRunner } from "./runner.ts";
import type { StateAdapterFixture } from "./state-fixture.ts";
import { defineStateSuite } from "./state-suite.ts";
import type { StateSuite } from "./state-suite.ts";
import { describeAddJobBlockers } from "./state/add-job-blockers.ts";
import { describeAttempts } from "./state/attempts.ts";
import { describeBacklog } from "./state/backlog.ts";
import { describeCancelSequences } from "./state/cancel-sequences.ts";
import { describeClaimJobs } from "./state/claim-jobs.ts";
import { describeClaimOrder } from "./state/claim-order.ts";
import { describeClose } from "./state/close.ts";
import { describeCommitOutcomes } from "./state/commit-outcomes.ts";
import { describeConcurrency } from "./state/concurrency.ts";
import { describeCreateJobs } from "./state/create-jobs.ts";
import { describeDeduplication } from "./state/deduplication.ts";
import { describeDeleteSequences } from "./state/delete-sequences.ts";
import { describeFailureCascade } from "./state/failure-cascade.ts";
import { describeFencing } from "./state/fencing.ts";
import { describeLockJob } from "./state/lock-job.ts";
import { describeLockSequence } from "./state/lock-sequence.ts";
import { describeNextRunnableIn } from "./state/next-runnable-in.ts";
import { describePruneSequences } from "./state/prune-sequences.ts";
import { describeReads } from "./state/reads.ts";
import { describeReapExpiredLeases } from "./state/reap-expired-leases.ts";
import { describeRedriveJobs } from "./state/redrive-jobs.ts";
import { describeRenewLeases } from "./state/renew-leases.ts";
import { describeTime } from "./state/time.ts";
import { describeTransactions } from "./state/transactions.ts";
import { describeUnblocking } from "./state/unblocking.ts";

const suites: Readonly<Record<string, (suite: StateSuite) => void>> = {
  createJobs: describeCreateJobs,
  deduplication: describeDeduplication,
  addJobBlockers: describeAddJobBlockers,
  claimJobs: describeClaimJobs,
  "claim order": describeClaimOrder,
  renewLeases: describeRenewLeases,
  lockJob: describeLockJob,
  lockSequence: describeLockSequence,
  commitOutcomes: describeCommitOutcomes,
  fencing: describeFencing,
  unblocking: describeUnblocking,
  "failure cascade": describeFailureCascade,
  attempts: describeAttempts,
  reapExpiredLeases: describeReapExpiredLeases,
  cancelSequences: describeCancelSequences,
  redriveJobs: describeRedriveJobs,
  deleteSequences: describeDeleteSequences,
  pruneSequences: describePruneSequences,
  "measureBacklog and listRecentlyFinished": describeBacklog,
  reads: describeReads,
  nextRunnableIn: describeNextRunnableIn,
  transactions: describeTransactions,
  concurrency: describeConcurrency,
  time: describeTime,
  close: describeClose,
};

/** Holds a state adapter to its contract. Every store passes all of it; what it may leave out, its capabilities say. */
export const stateAdapterConformance = (runner: ConformanceRunner, fixture: StateAdapterFixture): void => {
  runner.describe("state adapter conformance", () => {
    for (const [name, describeSuite] of Object.entries(suites))
      defineStateSuite(runner, fixture, name, describeSuite);
  });
};
