import { setStorageOptions } from "./base/codec.ts";
import { requireFunction } from "./base/options.ts";
import { createEngine, type LeaseholdOptions } from "./create-engine.ts";
import { explainJob } from "./doctor/explain.ts";
import { collectNotifications, parseTransactionOptions, runUserTransaction } from "./engine/operation.ts";
import { listJobAttempts } from "./history/attempts.ts";
import { listFailureCauses } from "./history/causes.ts";
import { listProcesses } from "./history/processes.ts";
import { getStatistics } from "./history/statistics.ts";
import type { DefineBlocker, DefineContinuationOutput } from "./job-types/markers.ts";
import { cancelJobSequences } from "./jobs/cancel.ts";
import { completeJobSequence } from "./jobs/complete-sequence.ts";
import { deleteJobSequences, pruneJobSequences } from "./jobs/delete.ts";
import * as queries from "./jobs/query.ts";
import { listJobSequences } from "./jobs/query.ts";
import { redriveJobs } from "./jobs/redrive.ts";
import { startJobSequence, startJobSequences } from "./jobs/start.ts";
import { runJobsNow, updateWaitingJobs } from "./jobs/update.ts";
import {
  type StartedSequence,
  type StartedSequenceView,
  viewCompleted,
  viewSequence,
  viewStarted,
} from "./jobs/view.ts";
import { waitForJobSequenceCompletion } from "./jobs/wait.ts";
import type { Leasehold, LeaseholdApi } from "./leasehold-api.ts";
import * as flow from "./limits/limits.ts";
import { declareRecurringJobs, deleteRecurringJob, putRecurringJob, setPaused } from "./recurring/put.ts";
import * as recurring from "./recurring/read.ts";
import { viewRecurringJob } from "./recurring/read.ts";
import { triggerRecurringJob } from "./recurring/tick.ts";
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
    : never;
};

/** Connects job types to a store. The result starts, reads and operates jobs, and creates workers. */
export const createLeasehold = async <TDefs, TStateAdapter extends AnyStateAdapter>(
  options: LeaseholdOptions<TDefs, TStateAdapter>,
): Promise<Leasehold<TDefs, TStateAdapter>> => {
  const engine = createEngine(options);
  await declareRecurringJobs(engine, options.recurringJobs);
  const crashIsolation = crashIsolationOf(options.runtime ?? undefined);
  const view = (started: StartedSequence): StartedSequenceView => viewStarted(engine, started);

  const start = async (passed: unknown) => view(await startJobSequence(engine, passed));
  const waitFor = async (passed: unknown) =>
    viewCompleted(engine, await waitForJobSequenceCompletion(engine, passed));

  const facade = {
    startJobSequence: start,
    start,
    startJobSequences: async (passed: unknown) => (await startJobSequences(engine, passed)).map(view),
    completeJobSequence: async (passed: unknown) =>
      viewSequence(engine, await completeJobSequence(engine, passed)),
    waitForJobSequenceCompletion: waitFor,
    waitFor,
    cancelJobSequences: (passed: unknown) => cancelJobSequences(engine, passed),
    redriveJobs: (passed: unknown) => redriveJobs(engine, passed),
    updateWaitingJobs: (passed: unknown) => updateWaitingJobs(engine, passed),
    runJobsNow: (passed: unknown) => runJobsNow(engine, passed),
    deleteJobSequences: (passed: unknown) => deleteJobSequences(engine, passed),
    pruneJobSequences: (passed: unknown) => pruneJobSequences(engine, passed),
    runInTransaction: async (callback: unknown, options?: unknown) => {
      const run = requireFunction<(ctx: object) => Promise<unknown>>(callback, "callback");
      const parsed = parseTransactionOptions(engine, options, "runInTransaction");
      return runUserTransaction(engine, async (ctx) => run(ctx), parsed);
    },
    withNotify: async (callback: unknown) => {
      const run = requireFunction<() => Promise<unknown>>(callback, "callback");
      return collectNotifications(engine, async () => run());
    },
    getJob: (passed: unknown) => queries.getJob(engine, passed),
    getJobSequence: (passed: unknown) => queries.getJobSequence(engine, passed),
    listJobs: (passed?: unknown) => queries.listJobs(engine, passed),
    listJobSequences: (passed?: unknown) => listJobSequences(engine, passed),
    listSequenceJobs: (passed: unknown) => queries.listSequenceJobs(engine, passed),
    getJobBlockers: (passed: unknown) => queries.getJobBlockers(engine, passed),
    listBlockedJobs: (passed: unknown) => queries.listBlockedJobs(engine, passed),
    listJobAttempts: (passed: unknown) => listJobAttempts(engine, passed),
    countJobs: (passed?: unknown) => queries.countJobs(engine, passed),
    explainJob: (passed: unknown) => explainJob(engine, passed),
    listFailureCauses: (passed?: unknown) => listFailureCauses(engine, passed),
    listProcesses: (passed?: unknown) => listProcesses(engine, passed),
    getStatistics: (passed: unknown) => getStatistics(engine, passed),
    setFlow: (passed: unknown) => flow.setFlow(engine, passed),
    pause: (passed: unknown) => flow.pause(engine, passed),
    resume: (passed: unknown) => flow.resume(engine, passed),
    getFlow: (passed?: unknown) => flow.getFlow(engine, passed),
    listGroups: (passed: unknown) => flow.listGroups(engine, passed),
    putRecurringJob: async (passed: unknown) =>
      viewRecurringJob(engine, await putRecurringJob(engine, passed)),
    pauseRecurringJob: async (passed: unknown) =>
      viewRecurringJob(engine, await setPaused(engine, "pauseRecurringJob", passed, true)),
    resumeRecurringJob: async (passed: unknown) =>
      viewRecurringJob(engine, await setPaused(engine, "resumeRecurringJob", passed, false)),
    deleteRecurringJob: (passed: unknown) => deleteRecurringJob(engine, passed),
    triggerRecurringJob: (passed: unknown) => triggerRecurringJob(engine, passed),
    getRecurringJob: (passed: unknown) => recurring.getRecurringJob(engine, passed),
    listRecurringJobs: (passed?: unknown) => recurring.listRecurringJobs(engine, passed),
    previewRecurringJob: (passed: unknown) => recurring.previewRecurringJob(engine, passed),
    getTime: (passed?: unknown) => queries.getTime(engine, passed),
    close: (passed?: unknown) => engine.lifecycle.close(passed),
    [Symbol.asyncDispose]: () => engine.lifecycle.close(),
    createWorker: (passed?: unknown) => createWorkerBuilder(engine, crashIsolation, passed),
  } satisfies Untyped<LeaseholdApi<AnyDefinitions, object, string>>;

  setStorageOptions(facade, engine);
  // The one cast: the engine checks arguments at run time, and here they get their types.
  return facade as unknown as Leasehold<TDefs, TStateAdapter>;
};
