import type { Leasehold } from "./api.ts";
import type { AnyStateAdapter } from "./contracts/state-adapter.ts";
import { createEngine, type LeaseholdOptions } from "./create-engine.ts";
import { waitForJobSequenceCompletion } from "./engine/await.ts";
import { cancelJobSequences } from "./engine/cancel.ts";
import { completeJobSequence } from "./engine/complete-workerless.ts";
import { deleteJobSequences, pruneJobSequences } from "./engine/delete.ts";
import { explainJob } from "./engine/explain.ts";
import * as queries from "./engine/queries.ts";
import { redriveJobs } from "./engine/redrive.ts";
import { type StartedSequence, startJobSequence, startJobSequences } from "./engine/start.ts";
import { collectNotifications, parseTransactionOptions, runUserTransaction } from "./engine/transaction.ts";
import { type SequenceView, viewSequence } from "./engine/view.ts";
import { requireFunction } from "./model/option-checks.ts";
import { crashIsolationOf } from "./worker/crash-isolation.ts";
import { createWorkerBuilder } from "./worker/worker-builder.ts";

/** Connects job types to a store. The result starts, steers and reads jobs, and creates workers. */
export const createLeasehold = async <TDefs, TStateAdapter extends AnyStateAdapter>(
  options: LeaseholdOptions<TDefs, TStateAdapter>,
): Promise<Leasehold<TDefs, TStateAdapter>> => {
  const engine = createEngine(options);
  const crashIsolation = crashIsolationOf(options.runtime ?? undefined);
  const viewStarted = ({ sequence, deduplicated }: StartedSequence): SequenceView => {
    const view = viewSequence(engine, sequence);
    view["deduplicated"] = deduplicated;
    return view;
  };

  const facade = {
    startJobSequence: async (passed: unknown) => viewStarted(await startJobSequence(engine, passed)),
    startJobSequences: async (passed: unknown) => (await startJobSequences(engine, passed)).map(viewStarted),
    completeJobSequence: async (passed: unknown) =>
      viewSequence(engine, await completeJobSequence(engine, passed)),
    waitForJobSequenceCompletion: async (passed: unknown) =>
      viewSequence(engine, await waitForJobSequenceCompletion(engine, passed)),
    cancelJobSequences: (passed: unknown) => cancelJobSequences(engine, passed),
    redriveJobs: (passed: unknown) => redriveJobs(engine, passed),
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
    listSequenceJobs: (passed: unknown) => queries.listSequenceJobs(engine, passed),
    getJobBlockers: (passed: unknown) => queries.getJobBlockers(engine, passed),
    listBlockedJobs: (passed: unknown) => queries.listBlockedJobs(engine, passed),
    countJobs: (passed?: unknown) => queries.countJobs(engine, passed),
    explainJob: (passed: unknown) => explainJob(engine, passed),
    createWorker: (passed?: unknown) => createWorkerBuilder(engine, crashIsolation, passed),
  } satisfies Record<keyof Leasehold<TDefs, TStateAdapter>, unknown>;

  // The one cast: everything below this line is untyped and checked at run time, everything above it is typed.
  return facade as unknown as Leasehold<TDefs, TStateAdapter>;
};
