import type { StateSuites } from "../../state-suite.ts";
import { describeAddJobBlockers } from "./add-job-blockers.ts";
import { describeAttempts } from "./attempts.ts";
import { describeCancelSequences } from "./cancel-sequences.ts";
import { describeClaimJobs } from "./claim-jobs.ts";
import { describeClaimOrder } from "./claim-order.ts";
import { describeClose } from "./close.ts";
import { describeCommitOutcomes } from "./commit-outcomes.ts";
import { describeConcurrency } from "./concurrency.ts";
import { describeCreateJobs } from "./create-jobs.ts";
import { describeDeduplication } from "./deduplication.ts";
import { describeDeleteSequences } from "./delete-sequences.ts";
import { describeDiscarding } from "./discarding.ts";
import { describeFailureCascade } from "./failure-cascade.ts";
import { describeFencing } from "./fencing.ts";
import { describeLockHeldJobs } from "./lock-held-jobs.ts";
import { describeLockSequence } from "./lock-sequence.ts";
import { describeNextRunnableIn } from "./next-runnable-in.ts";
import { describePruneSequences } from "./prune-sequences.ts";
import { describeReads } from "./reads.ts";
import { describeReapExpiredLeases } from "./reap-expired-leases.ts";
import { describeRedriveJobs } from "./redrive-jobs.ts";
import { describeRenewLeases } from "./renew-leases.ts";
import { describeRunnable } from "./runnable.ts";
import { describeTime } from "./time.ts";
import { describeTransactions } from "./transactions.ts";
import { describeUnblocking } from "./unblocking.ts";

/** The part of the contract that every adapter has. */
export const jobsSuites: StateSuites = {
  createJobs: describeCreateJobs,
  deduplication: describeDeduplication,
  addJobBlockers: describeAddJobBlockers,
  claimJobs: describeClaimJobs,
  "claim order": describeClaimOrder,
  renewLeases: describeRenewLeases,
  lockHeldJobs: describeLockHeldJobs,
  lockSequence: describeLockSequence,
  commitOutcomes: describeCommitOutcomes,
  "discarding completed jobs": describeDiscarding,
  fencing: describeFencing,
  unblocking: describeUnblocking,
  "failure cascade": describeFailureCascade,
  attempts: describeAttempts,
  reapExpiredLeases: describeReapExpiredLeases,
  cancelSequences: describeCancelSequences,
  redriveJobs: describeRedriveJobs,
  deleteSequences: describeDeleteSequences,
  pruneSequences: describePruneSequences,
  reads: describeReads,
  nextRunnableIn: describeNextRunnableIn,
  "what is runnable": describeRunnable,
  transactions: describeTransactions,
  concurrency: describeConcurrency,
  time: describeTime,
  close: describeClose,
};
