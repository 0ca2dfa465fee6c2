import { setStorageOptions } from "./base/codec.ts";
import { requireFunction } from "./base/options.ts";
import { createEngine, type LeaseholdOptions } from "./create-engine.ts";
import { explainJob } from "./doctor/explain.ts";
import { collectNotifications, parseTransactionOptions, runUserTransaction } from "./engine/operation.ts";
import { listJobAttempts } from "./history/attempts.ts";
import { listFailureCauses } from "./history/causes.ts";
import { listProcesses } from "./history/processes.ts";
import { getStatistics } from "./history/statistics.ts";
import { setJobTypes } from "./job-types/describe.ts";
import type { DefineBlocker, DefineContinuationOutput } from "./job-types/markers.ts";
import { cancelJobs } from "./jobs/cancel.ts";
import { completeJobSequence } from "./jobs/complete-sequence.ts";
import { deleteJobSequences, pruneJobs } from "./jobs/delete.ts";
import * as queries from "./jobs/query.ts";
import { redriveJobs } from "./jobs/redrive.ts";
import { startJobSequence, startJobSequences } from "./jobs/start.ts";
import { updateJobs } from "./jobs/update.ts";
import {
  type StartedSequence,
  type StartedSequenceView,
  viewCompleted,
  viewSequence,
  viewStarted,
} from "./jobs/view.ts";
import { waitForJobSequenceCompletion } from "./jobs/wait.ts";
import type { Leasehold, LeaseholdApi } from "./leasehold-api.ts";
import * as limits from "./limits/limits.ts";
import { declareRecurringJobs, deleteRecurringJob, putRecurringJob, setPaused } from "./recurring/put.ts";
import {
  getRecurringJob,
  listRecurringJobs,
  previewRecurringJob,
  viewRecurringJob,
} from "./recurring/read.ts";
import { triggerRecurringJob } from "./recurring/tick.ts";
import { updateRecurringJob } from "./recurring/update.ts";
import type { AnyStateAdapter } from "./store/contract/state-adapter.ts";
import { createWorkerBuilder } from "./worker/builder.ts";
import { crashIsolationOf } from "./worker/crash-isolation.ts";

interface AnyDefinition {
  readonly input: unknown;
  // Any value, or a continuation; `unknown` would swallow the latter.
  readonly output: DefineContinuationOutput<string> | {} | null | undefined;
  readonly blockers: readonly DefineBlocker<string>[];
}

type AnyDefinitions = Record<string, AnyDefinition>;

/** The same methods with the same results, called with anything. */
type Untyped<TApi> = {
  readonly [K in keyof TApi]: TApi[K] extends (...passed: never) => infer TResult
    ? (...passed: readonly unknown[]) => TResult
    : Untyped<TApi[K]>;
};

/** Connects job types to a store. The result starts, reads and operates jobs, and creates workers. */
export const createLeasehold = async <TDefs, TStateAdapter extends AnyStateAdapter>(
  options: LeaseholdOptions<TDefs, TStateAdapter>,
): Promise<Leasehold<TDefs, TStateAdapter>> => {
  const engine = createEngine(options);
  await declareRecurringJobs(engine, options.recurringJobs);
  const crashIsolation = crashIsolationOf(options.runtime ?? undefined);
  const view = (started: StartedSequence): StartedSequenceView => viewStarted(engine, started);

  const facade = {
    startJobSequence: async (passed: unknown) => view(await startJobSequence(engine, passed)),
    startJobSequences: async (passed: unknown) => (await startJobSequences(engine, passed)).map(view),
    completeJobSequence: async (passed: unknown) =>
      viewSequence(engine, await completeJobSequence(engine, passed)),
    waitForJobSequenceCompletion: async (passed: unknown, settings?: unknown) =>
      viewCompleted(engine, await waitForJobSequenceCompletion(engine, passed, settings)),
    deleteJobSequences: (passed: unknown) => deleteJobSequences(engine, passed),
    runInTransaction: async (callback: unknown, options?: unknown) => {
      const run = requireFunction<(ctx: object) => Promise<unknown>>(callback, "callback");
      const parsed = parseTransactionOptions(engine, options, "runInTransaction");
      return runUserTransaction(engine, async (ctx) => run(ctx), parsed);
    },
    withNotify: async (callback: unknown) => {
      const run = requireFunction<() => Promise<unknown>>(callback, "callback");
      return collectNotifications(engine, async () => run());
    },
    createWorker: (passed?: unknown) => createWorkerBuilder(engine, crashIsolation, passed),
    getTime: (passed?: unknown) => queries.getTime(engine, passed),
    close: (passed?: unknown) => engine.lifecycle.close(passed),
    [Symbol.asyncDispose]: () => engine.lifecycle.close(),
    jobs: {
      get: (passed: unknown) => queries.getJob(engine, passed),
      list: (passed?: unknown) => queries.listJobs(engine, passed),
      count: (passed?: unknown) => queries.countJobs(engine, passed),
      explain: (passed: unknown) => explainJob(engine, passed),
      getSequence: (passed: unknown) => queries.getJobSequence(engine, passed),
      listSequences: (passed?: unknown) => queries.listJobSequences(engine, passed),
      listInSequence: (passed: unknown) => queries.listSequenceJobs(engine, passed),
      listBlockers: (passed: unknown) => queries.listBlockers(engine, passed),
      listBlocked: (passed: unknown) => queries.listBlockedJobs(engine, passed),
      cancel: (passed: unknown) => cancelJobs(engine, passed),
      redrive: (passed: unknown) => redriveJobs(engine, passed),
      update: (passed: unknown) => updateJobs(engine, passed),
      prune: (passed: unknown) => pruneJobs(engine, passed),
    },
    recurring: {
      put: async (passed: unknown) => viewRecurringJob(engine, await putRecurringJob(engine, passed)),
      update: async (passed: unknown) => viewRecurringJob(engine, await updateRecurringJob(engine, passed)),
      pause: async (passed: unknown) =>
        viewRecurringJob(engine, await setPaused(engine, "recurring.pause", passed, true)),
      resume: async (passed: unknown) =>
        viewRecurringJob(engine, await setPaused(engine, "recurring.resume", passed, false)),
      delete: (passed: unknown) => deleteRecurringJob(engine, passed),
      trigger: (passed: unknown) => triggerRecurringJob(engine, passed),
      get: (passed: unknown) => getRecurringJob(engine, passed),
      list: (passed?: unknown) => listRecurringJobs(engine, passed),
      preview: (passed: unknown) => previewRecurringJob(engine, passed),
    },
    limits: {
      set: (passed: unknown) => limits.setLimits(engine, passed),
      pause: (passed: unknown) => limits.pause(engine, passed),
      resume: (passed: unknown) => limits.resume(engine, passed),
      list: (passed?: unknown) => limits.listLimits(engine, passed),
      listGroups: (passed: unknown) => limits.listGroups(engine, passed),
    },
    history: {
      listAttempts: (passed: unknown) => listJobAttempts(engine, passed),
      listCauses: (passed?: unknown) => listFailureCauses(engine, passed),
      listProcesses: (passed?: unknown) => listProcesses(engine, passed),
      getStatistics: (passed: unknown) => getStatistics(engine, passed),
    },
  } satisfies Untyped<Omit<LeaseholdApi<AnyDefinitions, object, string>, "~types">>;

  setStorageOptions(facade, engine);
  setJobTypes(facade, engine.jobTypes);
  // The one cast: the engine checks arguments at run time, and here they get their types.
  return facade as unknown as Leasehold<TDefs, TStateAdapter>;
};
