import { systemClock } from "../base/runtime.ts";
import type { Clock } from "../base/runtime.ts";
import type { Edits } from "../store/contract/edits.ts";
import type { History } from "../store/contract/history.ts";
import type { Limits } from "../store/contract/limits.ts";
import type { Recurring } from "../store/contract/recurring.ts";
import type { StateCall } from "../store/contract/calls.ts";
import type { Statistics } from "../store/contract/diagnostics.ts";
import type { StateAdapter } from "../store/contract/state-adapter.ts";
import { isolationLevels } from "../store/contract/calls.ts";
import { AdapterClosedError, StateNotInTransactionError } from "../store/errors.ts";
import { requireOptions } from "../base/options.ts";
import { listCauses } from "./operations/list-causes.ts";
import { listRecentlyFinished } from "./operations/list-recently-finished.ts";
import { measureBacklog } from "./operations/measure-backlog.ts";
import { addJobBlockers } from "./operations/add-job-blockers.ts";
import { cancelSequences } from "./operations/cancel-sequences.ts";
import { claimJobs } from "./operations/claim-jobs.ts";
import { nextRunnableIn } from "./operations/next-runnable-in.ts";
import { countAhead } from "./operations/count-ahead.ts";
import { createJobs } from "./operations/create-jobs.ts";
import { deleteSequences } from "./operations/delete-sequences.ts";
import { expireWaitingJobs } from "./operations/expire-waiting-jobs.ts";
import { pruneSequences } from "./operations/prune-sequences.ts";
import { createJobStore } from "./job-store.ts";
import { lockHeldJobs } from "./operations/lock-held-jobs.ts";
import { renewLeases } from "./operations/renew-leases.ts";
import { commitOutcomes } from "./operations/commit-outcomes.ts";
import { repairCounters } from "./operations/check-flow.ts";
import { explainThrottle } from "./operations/explain-hold.ts";
import { listRules } from "./operations/list-flow.ts";
import { listGroups } from "./operations/list-groups.ts";
import { resumeGroup } from "./operations/resume-group.ts";
import { setRule } from "./operations/set-flow-rule.ts";
import { countJobs } from "./operations/count-jobs.ts";
import { getBlockers, getSequence } from "./operations/get-sequences.ts";
import { listBlockedJobs, listJobs } from "./operations/list-jobs.ts";
import { reapExpiredLeases } from "./operations/reap-expired-leases.ts";
import { immediately, resolveSchedule } from "../store/rules/transitions.ts";
import * as recurringJobs from "./operations/recurring-jobs.ts";
import { redriveJobs } from "./operations/redrive-jobs.ts";
import * as reports from "./operations/reports.ts";
import { createTables, type TableRows } from "./tables.ts";
import { updateWaitingJobs } from "./operations/update-waiting-jobs.ts";
import { createCommittedView, createLiveView } from "./store-view.ts";
import type { StoreView } from "./store-view.ts";
import { createClient, createTransactions } from "./transactions.ts";
import type { InProcessContext } from "./transactions.ts";

export interface InProcessStateAdapter extends StateAdapter<InProcessContext, InProcessContext> {
  readonly statistics: Statistics<InProcessContext>;
  readonly recurring: Recurring<InProcessContext>;
  readonly edits: Edits<InProcessContext>;
  readonly limits: Limits<InProcessContext>;
  readonly history: History<InProcessContext>;
}

export interface InProcessStateAdapterOptions {
  /** The store's clock; the system's by default. */
  readonly clock?: Pick<Clock, "now">;
}

type Call = StateCall<InProcessContext>;

/**
 * Keeps jobs in this process: for tests, and for work that may be lost with the process. It has transactions with
 * savepoints; one that is open holds up every other write, so keep them short.
 */
export const createInProcessStateAdapter = (
  options: InProcessStateAdapterOptions = {},
): InProcessStateAdapter => {
  const { clock = systemClock } = requireOptions<keyof InProcessStateAdapterOptions>(
    options,
    "createInProcessStateAdapter",
    { clock: true },
  ) as InProcessStateAdapterOptions;
  const store = createJobStore();
  const tables = createTables();
  const transactions = createTransactions(store, tables);
  const liveView = createLiveView(store);
  let closed = false;

  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("in-process state adapter");
  };

  const assertInTransaction = (operation: string, ctx: unknown): void => {
    if (!transactions.has(ctx)) throw new StateNotInTransactionError(operation);
  };

  const timeOf = (call: Call | undefined): number => call?.now ?? clock.now();

  const perform = <T>(call: Call, action: (now: number) => T): T => {
    assertUsable();
    const now = timeOf(call);
    store.setTime(now);
    return action(now);
  };

  const writeInTransaction = async <T>(
    operation: string,
    call: Call,
    action: (now: number) => T,
  ): Promise<T> => {
    assertUsable();
    assertInTransaction(operation, call.ctx);
    return perform(call, action);
  };

  const write = <T>(operation: string, call: Call, action: (now: number) => T): Promise<T> =>
    call.ctx === undefined
      ? transactions.write(operation, () => perform(call, action))
      : writeInTransaction(operation, call, action);

  const read = async <T>(
    operation: string,
    call: Call,
    action: (view: StoreView, now: number) => T,
  ): Promise<T> => {
    assertUsable();
    if (call.ctx !== undefined) {
      assertInTransaction(operation, call.ctx);
      return action(liveView, timeOf(call));
    }
    const journals = transactions.journals();
    return action(journals.length === 0 ? liveView : createCommittedView(store, journals), timeOf(call));
  };

  const readRows = <T>(
    operation: string,
    call: Call,
    action: (rows: TableRows, view: StoreView, now: number) => T,
  ): Promise<T> =>
    read(operation, call, (view, now) =>
      action(call.ctx === undefined ? transactions.committedRows() : tables.rows(), view, now),
    );

  return {
    capabilities: { conflicts: "wait", savepoints: true, isolationLevels },

    provideContext: async (callback) => {
      assertUsable();
      return callback({ client: createClient() });
    },
    runInTransaction: async (callback, parent) => {
      assertUsable();
      return transactions.run(callback, parent, assertUsable);
    },
    isInTransaction: async (ctx) => transactions.has(ctx),
    isTransientError: () => false,
    isConflictRollback: () => false,
    getTime: (call = {}) => read("getTime", call, (_view, now) => now),

    createJobs: (call) => write("createJobs", call, (now) => createJobs(store, call.jobs, now)),
    addJobBlockers: (call) =>
      writeInTransaction("addJobBlockers", call, (now) => addJobBlockers(store, call, now)),
    claimJobs: (call) => write("claimJobs", call, (now) => claimJobs(store, call, now)),
    // Looks at the index as it is, uncommitted changes included: it is a hint, and a claim waits for their end anyway.
    nextRunnableIn: (call) => read("nextRunnableIn", call, (_view, now) => nextRunnableIn(store, call, now)),
    renewLeases: (call) => write("renewLeases", call, (now) => renewLeases(store, call.leases, now)),
    lockHeldJobs: (call) => writeInTransaction("lockHeldJobs", call, (now) => lockHeldJobs(store, call, now)),
    lockSequence: (call) =>
      writeInTransaction("lockSequence", call, () => getSequence(liveView, call.sequenceId)),
    commitOutcomes: (call) =>
      write("commitOutcomes", call, (now) => commitOutcomes(store, call.outcomes, now)),
    reapExpiredLeases: (call) =>
      write("reapExpiredLeases", call, (now) => reapExpiredLeases(store, call, now)),
    cancelSequences: (call) => write("cancelSequences", call, (now) => cancelSequences(store, call, now)),
    redriveJobs: (call) =>
      write("redriveJobs", call, (now) =>
        redriveJobs(store, call.jobIds, resolveSchedule(call.schedule ?? immediately, now)),
      ),
    deleteSequences: (call) => write("deleteSequences", call, () => deleteSequences(store, call)),
    pruneSequences: (call) => write("pruneSequences", call, () => pruneSequences(store, call)),

    getJobs: (call) => read("getJobs", call, (view) => call.jobIds.map((id) => view.find(id)?.row)),
    getSequences: (call) =>
      read("getSequences", call, (view) => call.sequenceIds.map((id) => getSequence(view, id))),
    listJobs: (call) => read("listJobs", call, (view) => listJobs(view, call)),
    getBlockers: (call) =>
      read("getBlockers", call, (view) => call.jobIds.map((id) => getBlockers(view, id))),
    listBlockedJobs: (call) => read("listBlockedJobs", call, (view) => listBlockedJobs(view, call)),
    countJobs: (call) => read("countJobs", call, (view) => countJobs(view, call.filter)),
    countAhead: (call) => read("countAhead", call, (view, now) => countAhead(view, call, now)),

    statistics: {
      measureBacklog: (call) =>
        read("measureBacklog", call, (view, now) => measureBacklog(view, call.cap, now)),
      listRecentlyFinished: (call) =>
        read("listRecentlyFinished", call, (view) => listRecentlyFinished(view, call)),
    },

    limits: {
      setRule: (call) => write("setRule", call, (now) => setRule(store, call, now)),
      resumeGroup: (call) => write("resumeGroup", call, () => resumeGroup(store, call)),
      // As with nextRunnableIn, changes of an open transaction count: claims wait for its end.
      listRules: (call) => read("listRules", call, (_view, now) => listRules(store, call.queue, now)),
      listGroups: (call) => read("listGroups", call, (_view, now) => listGroups(store, call, now)),
      explainThrottle: (call) =>
        read("explainThrottle", call, (_view, now) => explainThrottle(store, call.jobId, now)),
      repairCounters: (call) => write("repairCounters", call, () => repairCounters(store, call.repair)),
    },

    recurring: {
      getRecurring: (call) =>
        readRows("getRecurring", call, ({ recurring }) => call.ids.map((id) => recurring.get(id))),
      listRecurring: (call) =>
        readRows("listRecurring", call, ({ recurring }) => recurringJobs.listRecurring(recurring, call)),
      nextRecurringIn: (call) =>
        readRows("nextRecurringIn", call, ({ recurring }, _view, now) =>
          recurringJobs.nextRecurringIn(recurring, now),
        ),
      // The open transaction is the only writer, so everything is locked already.
      lockRecurring: (call) =>
        writeInTransaction("lockRecurring", call, () => tables.rows().recurring.get(call.id)),
      lockDueRecurring: (call) =>
        writeInTransaction("lockDueRecurring", call, (now) =>
          recurringJobs.lockDueRecurring(tables.rows().recurring, call, now),
        ),
      putRecurring: (call) =>
        writeInTransaction("putRecurring", call, (now) => recurringJobs.putRecurring(tables, call.job, now)),
      advanceRecurring: (call) =>
        writeInTransaction("advanceRecurring", call, () => recurringJobs.advanceRecurring(tables, call.jobs)),
      deleteRecurring: (call) =>
        write("deleteRecurring", call, () => recurringJobs.deleteRecurring(tables, call.ids)),
    },

    edits: {
      updateWaitingJobs: (call) =>
        write("updateWaitingJobs", call, (now) => updateWaitingJobs(store, call, now)),
      expireWaitingJobs: (call) =>
        write("expireWaitingJobs", call, (now) => expireWaitingJobs(store, call, now)),
    },

    history: {
      listAttempts: (call) =>
        read("listAttempts", call, (view) =>
          call.jobIds.map((id) => [...(view.find(id)?.history?.attempts ?? [])]),
        ),
      listCauses: (call) =>
        readRows("listCauses", call, ({ causes }, view) => listCauses(view, causes, call)),
      writeReport: (call) => write("writeReport", call, (now) => reports.writeReport(tables, call, now)),
      listProcesses: (call) =>
        readRows("listProcesses", call, ({ reporters }) => reports.listProcesses(reporters, call)),
      readBuckets: (call) =>
        readRows("readBuckets", call, ({ rollups }) => reports.readBuckets(rollups, call)),
      rollUpBuckets: (call) => write("rollUpBuckets", call, () => reports.rollUpBuckets(tables, call)),
      deleteOldReports: (call) =>
        write("deleteOldReports", call, () => reports.deleteOldReports(tables, liveView, call)),
    },

    diagnostics: {
      // It has no database that could be out of order.
      runChecks: () => read("runChecks", {}, () => []),
      estimateJobs: ({ limit }) =>
        read("estimateJobs", {}, (view) => {
          const jobs = view.jobs()[Symbol.iterator]();
          let count = 0;
          while (count < limit && jobs.next().done !== true) count += 1;
          return count;
        }),
    },

    close: async () => {
      closed = true;
    },
  };
};
