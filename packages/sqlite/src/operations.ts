import type { Operations } from "./database/operation.ts";
import type { Tables } from "./database/tables.ts";
import { createAttempts } from "./history/attempts.ts";
import { prepareListCauses } from "./history/causes.ts";
import { prepareReports } from "./history/reports.ts";
import { prepareListRecentlyFinished, prepareMeasureBacklog } from "./jobs/backlog.ts";
import { createBlockers, prepareAddJobBlockers, prepareGetBlockers } from "./jobs/blockers.ts";
import { prepareCancelSequences } from "./jobs/cancel.ts";
import { prepareClaimJobs, prepareCountAhead, prepareNextRunnableIn } from "./jobs/claim.ts";
import { createPlainCompletions, prepareCommitOutcomes } from "./jobs/commit.ts";
import { prepareCreateJobs } from "./jobs/create.ts";
import { createDeduplication } from "./jobs/deduplication.ts";
import { prepareDeleteSequences, preparePruneSequences } from "./jobs/delete.ts";
import { createDependants } from "./jobs/dependants.ts";
import { createWaitingJobs, prepareExpireWaitingJobs, prepareUpdateWaitingJobs } from "./jobs/edits.ts";
import {
  prepareLockHeldJobs,
  prepareReadLeases,
  prepareReapExpiredLeases,
  prepareRenewLeases,
} from "./jobs/leases.ts";
import { prepareCountJobs, prepareListBlockedJobs, prepareListJobs } from "./jobs/list.ts";
import { prepareRedriveJobs } from "./jobs/redrive.ts";
import { prepareClaimFairly, prepareDeleteIdleGroups } from "./limits/claim.ts";
import { prepareDueJobs } from "./limits/due-jobs.ts";
import { prepareRepairCounters, prepareExplainThrottle, prepareThrottles } from "./limits/explain.ts";
import { createGroupQueues } from "./limits/group-queues.ts";
import { prepareCountInGroup, prepareNextClaimableAt } from "./limits/next-runnable.ts";
import { prepareListRules, prepareListGroups } from "./limits/read.ts";
import { createLimitRuleRows } from "./limits/rule-rows.ts";
import { preparePauseGroup, prepareResumeGroup, prepareSetRule } from "./limits/set-rule.ts";
import { prepareRecurringJobs } from "./recurring.ts";
import { createJobLookup } from "./rows/job-table.ts";
import { createRunnable, prepareRequeueExpired } from "./rows/runnable.ts";

/** All operations of the adapter, over tables of these names. Each takes the connection to use. */
export const createOperations = (tables: Tables): Operations => {
  const lookup = createJobLookup(tables);
  const runnable = createRunnable(tables);
  const readLeases = prepareReadLeases(tables);
  const deduplication = createDeduplication(tables);
  const blockers = createBlockers(tables, lookup);
  const limitRules = createLimitRuleRows(tables);
  const groupQueues = createGroupQueues(tables, limitRules);
  const attempts = createAttempts(tables);
  const requeueExpired = prepareRequeueExpired(tables);
  const claimFairly = prepareClaimFairly(
    tables,
    runnable,
    limitRules,
    groupQueues,
    requeueExpired,
    lookup,
    attempts,
  );
  const throttles = prepareThrottles(tables);
  const deleteIdleGroups = prepareDeleteIdleGroups(tables);
  const plainCompletions = createPlainCompletions(tables, groupQueues);
  const dependants = createDependants(tables, lookup, deduplication, groupQueues);
  const waiting = createWaitingJobs(tables, groupQueues);
  return {
    createJobs: prepareCreateJobs(tables, lookup, deduplication, waiting, groupQueues),
    addJobBlockers: prepareAddJobBlockers(tables, lookup, blockers, dependants, groupQueues),

    claimJobs: prepareClaimJobs(tables, runnable, limitRules, claimFairly, attempts),
    nextRunnableIn: prepareNextRunnableIn(runnable, limitRules, prepareNextClaimableAt(tables, runnable)),
    countAhead: prepareCountAhead(tables, runnable, prepareCountInGroup(tables)),

    renewLeases: prepareRenewLeases(tables, readLeases),
    lockHeldJobs: prepareLockHeldJobs(readLeases),
    // The open transaction is the only writer, so all rows are locked already.
    lockSequence: (db, { sequenceId }) => lookup.getSequences(db, [sequenceId])[0],
    commitOutcomes: prepareCommitOutcomes(
      tables,
      dependants,
      deduplication,
      plainCompletions,
      groupQueues,
      lookup,
      attempts,
    ),
    reapExpiredLeases: prepareReapExpiredLeases(
      tables,
      runnable,
      lookup,
      dependants,
      deduplication,
      groupQueues,
      requeueExpired,
      deleteIdleGroups,
      attempts,
    ),

    cancelSequences: prepareCancelSequences(tables, lookup, dependants, deduplication, groupQueues, attempts),
    redriveJobs: prepareRedriveJobs(tables, lookup, blockers, deduplication, groupQueues),
    deleteSequences: prepareDeleteSequences(tables, groupQueues),
    pruneSequences: preparePruneSequences(tables),

    getJobs: (db, { jobIds }) => lookup.getJobs(db, jobIds),
    getSequences: (db, { sequenceIds }) => lookup.getSequences(db, sequenceIds),
    listJobs: prepareListJobs(tables),
    getBlockers: prepareGetBlockers(lookup, blockers),
    listBlockedJobs: prepareListBlockedJobs(tables),
    countJobs: prepareCountJobs(tables),
    measureBacklog: prepareMeasureBacklog(tables, runnable, prepareDueJobs(tables, limitRules, throttles)),
    listRecentlyFinished: prepareListRecentlyFinished(tables),
    ...prepareRecurringJobs(tables),

    updateWaitingJobs: prepareUpdateWaitingJobs(lookup, waiting),
    expireWaitingJobs: prepareExpireWaitingJobs(tables, dependants, deduplication, groupQueues),

    setRule: prepareSetRule(tables, limitRules),
    listRules: prepareListRules(tables, runnable, limitRules, throttles),
    listGroups: prepareListGroups(tables, limitRules, throttles),
    pauseGroup: preparePauseGroup(groupQueues),
    resumeGroup: prepareResumeGroup(groupQueues),
    explainThrottle: prepareExplainThrottle(tables, limitRules, throttles),
    repairCounters: prepareRepairCounters(tables),

    listAttempts: (db, { jobIds }) => attempts.list(db, jobIds),
    listCauses: prepareListCauses(tables),
    ...prepareReports(tables),
  };
};
