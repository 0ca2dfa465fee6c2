import { createAttempts } from "./attempts.ts";
import { createBlockers } from "./blockers.ts";
import { createDeduplication } from "./deduplication.ts";
import { createDependants } from "./dependants.ts";
import { prepareCountInLine } from "./flow/count-in-line.ts";
import { prepareHolds } from "./flow/holds.ts";
import { createLanes } from "./flow/lanes.ts";
import { createLines } from "./flow/lines.ts";
import { prepareNextInLineAt } from "./flow/next-in-line.ts";
import { prepareTakeInTurn } from "./flow/take-in-turn.ts";
import { prepareTidyLines } from "./flow/tidy-lines.ts";
import { prepareReadLeases } from "./lease-states.ts";
import { prepareActions } from "./operations/actions.ts";
import { prepareAddJobBlockers } from "./operations/add-job-blockers.ts";
import { prepareCancelSequences } from "./operations/cancel-sequences.ts";
import { prepareCheckFlow } from "./operations/check-flow.ts";
import { prepareClaimJobs } from "./operations/claim-jobs.ts";
import { prepareCommitOutcomes } from "./operations/commit-outcomes.ts";
import { prepareCountAhead } from "./operations/count-ahead.ts";
import { prepareCountJobs } from "./operations/count-jobs.ts";
import { prepareCreateJobs } from "./operations/create-jobs.ts";
import { prepareDeleteSequences } from "./operations/delete-sequences.ts";
import { prepareExplainHold } from "./operations/explain-hold.ts";
import { prepareGetBlockers } from "./operations/get-blockers.ts";
import { prepareExpireWaitingJobs } from "./operations/expire-waiting-jobs.ts";
import { createJobLookup } from "./operations/get-jobs.ts";
import { prepareListCauses } from "./operations/list-causes.ts";
import { prepareListFlow } from "./operations/list-flow.ts";
import { prepareListGroups } from "./operations/list-groups.ts";
import { prepareListBlockedJobs, prepareListJobs } from "./operations/list-jobs.ts";
import { prepareListRecentlyFinished } from "./operations/list-recently-finished.ts";
import { prepareLockHeldJobs } from "./operations/lock-held-jobs.ts";
import { prepareMeasureBacklog } from "./operations/measure-backlog.ts";
import { prepareNextRunnableIn } from "./operations/next-runnable-in.ts";
import { createPlainCompletions } from "./operations/plain-completions.ts";
import { preparePruneSequences } from "./operations/prune-sequences.ts";
import { prepareReapExpiredLeases } from "./operations/reap-expired-leases.ts";
import { prepareRecurringJobs } from "./operations/recurring-jobs.ts";
import { prepareRedriveJobs } from "./operations/redrive-jobs.ts";
import { prepareRenewLeases } from "./operations/renew-leases.ts";
import { prepareReports } from "./operations/reports.ts";
import { prepareUpdateWaitingJobs } from "./operations/update-waiting-jobs.ts";
import { prepareResumeGroup } from "./operations/resume-group.ts";
import { prepareSetFlowRule } from "./operations/set-flow-rule.ts";
import type { Operations } from "./operation.ts";
import { prepareRequeueExpired } from "./requeue-expired.ts";
import { createRunnable } from "./runnable.ts";
import type { Tables } from "./tables.ts";
import { createWaitingJobs } from "./waiting-jobs.ts";

/** Everything the adapter can do, over tables of these names. Each operation takes the connection to use. */
export const createOperations = (tables: Tables): Operations => {
  const lookup = createJobLookup(tables);
  const runnable = createRunnable(tables);
  const readLeases = prepareReadLeases(tables);
  const deduplication = createDeduplication(tables);
  const blockers = createBlockers(tables, lookup);
  const lanes = createLanes(tables);
  const lines = createLines(tables, lanes);
  const attempts = createAttempts(tables);
  const requeueExpired = prepareRequeueExpired(tables);
  const takeInTurn = prepareTakeInTurn(tables, runnable, lanes, lines, requeueExpired, lookup, attempts);
  const holds = prepareHolds(tables);
  const tidyLines = prepareTidyLines(tables, lanes, lines);
  const plainCompletions = createPlainCompletions(tables, lines);
  const dependants = createDependants(tables, lookup, deduplication, lines);
  const waiting = createWaitingJobs(tables, lines);
  return {
    createJobs: prepareCreateJobs(tables, lookup, deduplication, waiting, lanes, lines),
    addJobBlockers: prepareAddJobBlockers(tables, lookup, blockers, dependants, lines),

    claimJobs: prepareClaimJobs(tables, runnable, lanes, takeInTurn, attempts),
    nextRunnableIn: prepareNextRunnableIn(runnable, lanes, prepareNextInLineAt(tables, runnable)),
    countAhead: prepareCountAhead(tables, runnable, prepareCountInLine(tables, lanes)),

    renewLeases: prepareRenewLeases(tables, readLeases),
    lockHeldJobs: prepareLockHeldJobs(readLeases),
    // The open transaction is the only writer, so everything is locked already.
    lockSequence: (db, { sequenceId }) => lookup.getSequences(db, [sequenceId])[0],
    commitOutcomes: prepareCommitOutcomes(
      tables,
      dependants,
      deduplication,
      plainCompletions,
      lines,
      attempts,
    ),
    reapExpiredLeases: prepareReapExpiredLeases(
      tables,
      runnable,
      lookup,
      dependants,
      deduplication,
      lines,
      requeueExpired,
      tidyLines,
      attempts,
    ),

    cancelSequences: prepareCancelSequences(tables, lookup, dependants, deduplication, lines),
    redriveJobs: prepareRedriveJobs(tables, lookup, blockers, deduplication, lines),
    deleteSequences: prepareDeleteSequences(tables, lines),
    pruneSequences: preparePruneSequences(tables),

    getJobs: (db, { jobIds }) => lookup.getJobs(db, jobIds),
    getSequences: (db, { sequenceIds }) => lookup.getSequences(db, sequenceIds),
    listJobs: prepareListJobs(tables),
    getBlockers: prepareGetBlockers(lookup, blockers),
    listBlockedJobs: prepareListBlockedJobs(tables),
    countJobs: prepareCountJobs(tables),
    measureBacklog: prepareMeasureBacklog(tables, runnable),
    listRecentlyFinished: prepareListRecentlyFinished(tables),
    ...prepareRecurringJobs(tables),

    updateWaitingJobs: prepareUpdateWaitingJobs(lookup, waiting),
    expireWaitingJobs: prepareExpireWaitingJobs(tables, dependants, deduplication, lines),

    enableFlow: (db) => lanes.enable(db),
    setFlowRule: prepareSetFlowRule(tables, runnable, lanes),
    listFlow: prepareListFlow(tables, runnable, lanes, holds),
    listGroups: prepareListGroups(tables, lanes, holds),
    resumeGroup: prepareResumeGroup(lines),
    explainHold: prepareExplainHold(tables, lanes, holds),
    checkFlow: prepareCheckFlow(tables),

    listAttempts: (db, { jobIds }) => attempts.list(db, jobIds),
    listCauses: prepareListCauses(tables),
    ...prepareReports(tables),
    ...prepareActions(tables),
  };
};
