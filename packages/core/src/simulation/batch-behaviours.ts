import { UnrecoverableJobError } from "../store/errors.ts";
import { failJob } from "../worker/outcome.ts";
import { rescheduleJob } from "../worker/outcome.ts";
import { type Behaviour, behaviourOf, type ScriptedJob } from "./behaviours.ts";
import type { SimulatedProcess } from "./workload.ts";

interface BatchAttempt {
  readonly jobs: readonly ScriptedJob[];
  readonly signal: AbortSignal;
  readonly complete: (callback: (tools: BatchCompletionTools) => Promise<unknown>) => Promise<unknown>;
}

interface BatchCompletionTools {
  readonly jobs: readonly ScriptedJob[];
  readonly continueWith: (options: object) => unknown;
}

interface Scripted {
  readonly job: ScriptedJob;
  readonly behaviour: Behaviour;
}

/** Names the job, so that a check can tell whose output it is. */
export const bundleOutput = (jobId: string): string => `done: ${jobId}`;
/** Names the job that the error is about. */
export const bundleError = (jobId: string): string => `the fault of ${jobId}`;

const never = (): Promise<never> => new Promise(() => undefined);

/**
 * Runs one call by the scripts of its jobs: what one of them does to the call, the others suffer. Half of the failures are
 * thrown, and the other half put in the place of the job.
 */
export const behaveTogether = async (
  process: SimulatedProcess,
  { jobs, signal, complete }: BatchAttempt,
  next: string,
): Promise<unknown> => {
  const scripted = jobs.map((job): Scripted => ({ job, behaviour: behaviourOf(process, job) }));
  const find = (...kinds: Behaviour["kind"][]): Scripted | undefined =>
    scripted.find(({ behaviour }) => kinds.includes(behaviour.kind));
  const ms = Math.max(...scripted.map(({ behaviour }) => behaviour.ms));

  const poison = find("poison");
  if (poison) {
    if (ms % 2 === 1) await process.sleep(ms, signal);
    signal.throwIfAborted();
    process.crash();
    return never();
  }
  if (find("never")) return never();
  const blocking = find("block");
  if (blocking) process.block(blocking.behaviour.ms * 2);
  await process.sleep(find("ignore_signal") ? ms * 3 : ms, find("ignore_signal") ? undefined : signal);
  if (!find("ignore_signal")) signal.throwIfAborted();
  if (find("reschedule") && jobs.length % 2 === 1) rescheduleJob({ afterMs: ms + 300 });

  const culprit = find("throw", "give_up");
  if (culprit && culprit.behaviour.ms % 2 === 0) throw errorOf(culprit);

  const placeOf = (job: ScriptedJob, continueWith?: BatchCompletionTools["continueWith"]): unknown => {
    const one = scripted.find((each) => each.job.id === job.id)!;
    const { script, hops } = job.input;
    if (one.behaviour.kind === "throw" || one.behaviour.kind === "give_up") return failJob(errorOf(one));
    if (!continueWith || hops === 0) return bundleOutput(job.id);
    const timeoutMs = job.timeoutMs ?? undefined;
    return continueWith({ typeName: next, input: { script, hops: hops - 1 }, timeoutMs });
  };
  const inTransaction = find("transaction", "staged", "atomic") || jobs.some(({ input }) => input.hops > 0);
  if (!inTransaction) return jobs.map((job) => placeOf(job));
  return complete(async ({ jobs: held, continueWith }) => {
    // The transaction is open all the while, and with it the whole store; so not for long.
    await process.sleep(Math.min(ms, 5), signal);
    return held.map((job) => placeOf(job, continueWith));
  });
};

const errorOf = ({ job, behaviour }: Scripted): Error => {
  const message = bundleError(job.id);
  return behaviour.kind === "give_up" ? new UnrecoverableJobError(message) : new Error(message);
};
