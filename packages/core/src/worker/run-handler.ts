import { validateAgainstSchema } from "../engine/job-type-registry.ts";
import { linkBlockers } from "../engine/trace.ts";
import { type JobView, viewJob } from "../engine/view.ts";
import { decodePayload } from "../model/codec.ts";
import type { StateSequence } from "../model/job.ts";
import type { StateStore } from "../engine/dispatch.ts";
import type { Attempt } from "./attempt.ts";
import { BlockersUnread, StoredInputRefused } from "./decide-outcome.ts";
import { HandlerOptions } from "./handler-options.ts";

/** Runs the handler with the job as it is stored; at once, unless something about the job has to be waited for. */
export const runHandler = (attempt: Attempt): unknown => {
  const { engine } = attempt.worker;
  const { job } = attempt.held;
  const stored = decodePayload(engine.codec, job.input, "input");
  const type = engine.jobTypes.get(job.typeName);
  if (type.input || job.blockerCount > 0) return waitAndRunHandler(attempt, stored);
  return runInScope(attempt, viewJob(engine, job, [], stored));
};

const waitAndRunHandler = async (attempt: Attempt, stored: unknown): Promise<unknown> => {
  const input = await validateInput(attempt, stored);
  const blockers = await readBlockers(attempt);
  // Reading may have taken so long that the job is somebody else's by now.
  attempt.checkStillWanted();
  return runInScope(attempt, viewJob(attempt.worker.engine, attempt.held.job, blockers, input));
};

export const validateInput = async ({ worker, held }: Attempt, stored: unknown): Promise<unknown> => {
  const { typeName } = held.job;
  try {
    const type = worker.engine.jobTypes.get(typeName);
    const { value } = await validateAgainstSchema(type, typeName, "input", stored);
    return value;
  } catch (error) {
    throw new StoredInputRefused(error);
  }
};

/** Reads the blockers of several jobs. A transient error is told apart from those of the handler, which has not run yet. */
export const getBlockers = async (
  store: StateStore,
  jobIds: readonly string[],
): Promise<readonly (readonly StateSequence[])[]> => {
  try {
    return await store.getBlockers({ jobIds });
  } catch (error) {
    throw store.isTransientError(error) ? new BlockersUnread(error) : error;
  }
};

const readBlockers = async ({ worker, held }: Attempt): Promise<readonly StateSequence[]> => {
  const { job, span } = held;
  if (job.blockerCount === 0) return [];
  const [blockers] = await getBlockers(worker.engine.store, [job.id]);
  if (span && blockers!.length > 0) linkBlockers(span, blockers!);
  return blockers!;
};

const runInScope = (attempt: Attempt, view: JobView): unknown => {
  const { job } = attempt.held;
  const origin = { jobId: job.id, rootSequenceId: job.rootSequenceId };
  // A scope of its own, without that of the code that started the worker: it has nothing to do with this job.
  return attempt.worker.engine.scope.run({ origin }, callHandler, attempt, view);
};

const callHandler = (attempt: Attempt, view: JobView): unknown => {
  const running = attempt.handler.run(new HandlerOptions(view, attempt));
  attempt.endSynchronousPart();
  return running;
};
