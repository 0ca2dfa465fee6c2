import { InvalidOptionError } from "../base/errors.ts";
import {
  optionalInteger,
  type OptionNames,
  requireId,
  requireName,
  requireOptions,
} from "../base/options.ts";
import { sleep } from "../base/runtime.ts";
import { restoreError } from "../base/stored-error.ts";
import type { Engine } from "../engine/engine.ts";
import { requireOpen } from "../engine/operation.ts";
import { requireTypeName } from "../job-types/registry.ts";
import { isTerminal, type StateJob, type StateSequence } from "../store/contract/job.ts";
import {
  JobNotFoundError,
  JobSequenceFailedError,
  WaitForJobSequenceCompletionTimeoutError,
} from "../store/errors.ts";
import type { WaitSettings } from "./api/operate.ts";
import { viewFields } from "./view.ts";

const defaultPollIntervalMs = 100;

const defaultTimeoutMs = 30_000;

const settingNames: OptionNames<keyof WaitSettings> = { timeoutMs: true, pollIntervalMs: true, signal: true };

// A sequence can be passed as it is, with the settings of the call beside its own fields.
const waitOptions: OptionNames = { ...viewFields, ...settingNames };

const readOptions = (passed: unknown, settings: unknown): Record<string, unknown> => {
  const options = requireOptions(passed, "waitForJobSequenceCompletion", waitOptions);
  if (settings === undefined) return options;
  const own = requireOptions(settings, "waitForJobSequenceCompletion", settingNames);
  const given = Object.entries(own).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (options[name] === undefined) continue;
    throw new InvalidOptionError(name, "must be in one of the two arguments, not in both", value);
  }
  return { ...options, ...Object.fromEntries(given) };
};

/**
 * Waits until a sequence ends. Listens first and reads afterwards, so that an end between the two is not missed. Polling
 * covers notifications that never arrive. A store that fails meanwhile is asked again until the time is up.
 */
export const waitForJobSequenceCompletion = async (
  engine: Engine,
  passed: unknown,
  settings?: unknown,
): Promise<StateSequence> => {
  const options = readOptions(passed, settings);
  const id = requireId(options["id"], "id");
  const typeName = requireName(options["typeName"], "typeName");
  const bounds = { min: 1, max: Number.MAX_SAFE_INTEGER };
  const timeoutMs = optionalInteger(options["timeoutMs"], "timeoutMs", defaultTimeoutMs, bounds);
  const pollIntervalMs = optionalInteger(
    options["pollIntervalMs"],
    "pollIntervalMs",
    defaultPollIntervalMs,
    bounds,
  );
  const signal = options["signal"];
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidOptionError("signal", "must be an AbortSignal", signal);
  }

  const { clock } = engine.runtime;
  const deadline = clock.monotonic() + timeoutMs;
  let wake = new AbortController();
  const subscribed = new AbortController();
  const onWake = (): void => {
    subscribed.abort();
    wake.abort();
  };
  const { closed } = engine.lifecycle;
  for (const ending of [signal, closed]) ending?.addEventListener("abort", onWake);
  const listening = engine.listening.listen("jobSequenceCompleted", [id], onWake);
  void listening.then(() => subscribed.abort());
  // A slow subscription must not delay the answer.
  if (!signal?.aborted) await sleep(clock, Math.min(pollIntervalMs, timeoutMs), subscribed.signal);
  try {
    let storeError: unknown;
    let isPoll = false;
    for (;;) {
      wake = new AbortController();
      signal?.throwIfAborted();
      requireOpen(engine, "waitForJobSequenceCompletion");
      try {
        const isUnfinished = isPoll && (await isUnfinishedInCopy(engine, id));
        const finished = isUnfinished ? undefined : await readFinished(engine, id, typeName);
        if (finished) return finished;
        storeError = undefined;
      } catch (error) {
        if (!engine.store.isTransientError(error)) throw error;
        storeError = error;
      }
      const remaining = deadline - clock.monotonic();
      if (remaining <= 0) {
        const timeout = new WaitForJobSequenceCompletionTimeoutError(id, timeoutMs);
        if (storeError !== undefined) timeout.cause = storeError;
        throw timeout;
      }
      await sleep(clock, Math.min(pollIntervalMs, remaining), wake.signal);
      isPoll = !wake.signal.aborted && remaining > pollIntervalMs;
    }
  } finally {
    for (const ending of [signal, closed]) ending?.removeEventListener("abort", onWake);
    void listening.then((dispose) => dispose());
  }
};

/** A copy may show an end from before a redrive, or not have the sequence yet: all that it can say is "not yet". */
const isUnfinishedInCopy = async ({ store }: Engine, id: string): Promise<boolean> => {
  if (store.capabilities.readsFromReplica !== true) return false;
  const [sequence] = await store.getSequences({ sequenceIds: [id], mayLag: true });
  return sequence !== undefined && !isTerminal(sequence.current.status);
};

const readFinished = async (
  engine: Engine,
  id: string,
  typeName: string,
): Promise<StateSequence | undefined> => {
  const [sequence] = await engine.store.getSequences({ sequenceIds: [id] });
  if (!sequence) throw new JobNotFoundError(id, "job sequence");
  requireTypeName(typeName, sequence.first.typeName, "sequence");
  const { current } = sequence;
  if (current.status === "failed") throw await describeFailure(engine, current);
  return current.status === "completed" ? sequence : undefined;
};

// A chain of blockers can be long; the first few failures are enough to find the reason.
const longestStory = 10;

/** The failure with its cause: the error of the job itself, or the failure of the sequence it waited for. */
const describeFailure = async (
  engine: Engine,
  job: StateJob,
  remaining = longestStory,
): Promise<JobSequenceFailedError> => {
  const { sequenceId, id, failureReason, failedBlockerId } = job;
  let cause: Error | null = restoreError(job.lastError);
  if (failureReason === "blocker_failed" && failedBlockerId !== null && remaining > 0) {
    const [blocker] = await engine.store.getSequences({ sequenceIds: [failedBlockerId] });
    if (blocker?.current.status === "failed") {
      cause = await describeFailure(engine, blocker.current, remaining - 1);
    }
  }
  return new JobSequenceFailedError(sequenceId, id, failureReason!, cause);
};
