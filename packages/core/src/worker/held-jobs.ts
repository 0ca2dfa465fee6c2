import type { Clock } from "../base/runtime.ts";
import { cut } from "../base/stored-error.ts";
import type { Origin } from "../engine/engine.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import type { AttemptEventData } from "../observability/events.ts";
import type { AttemptSpan } from "../observability/observe.ts";
import type { StateJob } from "../store/contract/job.ts";

/** What a handler calls as `log`. */
export type WriteLog = (text: unknown, data?: unknown) => void;

/** The last lines that an attempt has logged. */
export interface AttemptLog {
  readonly write: WriteLog;
  /** All lines as text to be stored; null if there is none. */
  toText(): string | null;
}

const mostLines = 100;

const mostBytes = 16 * 1_024;

const longestText = 2_000;

const longestData = 4_000;

/** Values change, so they are written down at once; and nothing about them may be the end of the job. */
const encodeData = (data: unknown): string | undefined => {
  try {
    const text = JSON.stringify(data) as string | undefined;
    return text !== undefined && text.length > longestData ? JSON.stringify(cut(text, longestData)) : text;
  } catch {
    return '"(not JSON)"';
  }
};

const readText = (text: unknown): string => {
  try {
    return cut(String(text), longestText);
  } catch {
    return "(not a text)";
  }
};

export const createAttemptLog = (clock: Clock): AttemptLog => {
  /** Each a JSON array: when, the text, and the data if there is any. */
  const lines: string[] = [];
  const sizes: number[] = [];
  let bytes = 0;

  return {
    write: (text, data) => {
      const encoded = encodeData(data);
      const start = `[${Math.round(clock.now())},${JSON.stringify(readText(text))}`;
      const line = encoded === undefined ? `${start}]` : `${start},${encoded}]`;
      const size = Buffer.byteLength(line) + 1;
      lines.push(line);
      sizes.push(size);
      bytes += size;
      while (lines.length > mostLines || bytes >= mostBytes) {
        lines.shift();
        bytes -= sizes.shift()!;
      }
    },
    toText: () => (lines.length === 0 ? null : `[${lines.join(",")}]`),
  };
};

/**
 * Decides which jobs may be in this process together. A job suspected of crashing its process runs alone, without even
 * buffered jobs: every held job loses an attempt when the process dies. So the next crash is certainly its own, and costs
 * no healthy job an attempt.
 *
 * Nor does a suspect wait here while other jobs run: another process may be free to run it. It is released, and the worker
 * that claimed it requests a turn: the process claims no more, empties, and that worker then claims first.
 */
export interface CrashIsolation {
  /** A worker of this process holds a lease from here on, or is about to. */
  hold(): void;
  drop(): void;
  tryEnter(alone: boolean): boolean;
  leave(alone: boolean): void;
  /** Asks for the process to be emptied; nothing else may enter until the suspect has run. */
  requestAlone(): void;
  withdrawRequest(): void;
  /** Asks for the process to be emptied, so that this worker can claim while nothing runs. */
  requestTurn(worker: object): void;
  /** The worker has claimed, could not, or stops. Returns whether it had asked for a turn. */
  endTurn(worker: object): boolean;
  /** Whether this worker may fetch jobs now. */
  mayClaim(worker: object): boolean;
  /** Whether nothing runs in this process. */
  readonly isQuiet: boolean;
  /** Whether a suspect is running, waiting or to be fetched: nothing else should be started or kept waiting. */
  readonly isReserved: boolean;
  /** Called when the process is to be emptied, and whenever a job that had to wait may be able to enter. */
  onChange(listener: () => void): () => void;
}

/** Something the loops of a worker wait for. */
export interface WakeUp<TArguments extends readonly unknown[] = []> {
  readonly signal: (...values: TArguments) => void;
  readonly subscribe: (listener: (...values: TArguments) => void) => void;
}

/**
 * Signals between the parts of a worker, against the direction in which jobs pass through them. Made before all of the
 * parts, so that none has to know one that is made after it.
 */
export interface WakeUps {
  /** A slot or a place in the buffer has become free, or an outcome was written: there may be room for a claim. */
  readonly roomFreed: WakeUp;
  /** A job of ours will be runnable after this many milliseconds. */
  readonly runnableIn: WakeUp<[ms: number]>;
  /** A job of this type that was counted against a limit has ended: one that was held back may run. */
  readonly limitFreed: WakeUp<[typeName: string]>;
  /** A job with a shorter lease than all before it: the heartbeat has to quicken. */
  readonly leaseShortened: WakeUp;
  /** The worker ends its sleep: what was postponed may run. */
  readonly awake: WakeUp;
}

const createWakeUp = <TArguments extends readonly unknown[] = []>(): WakeUp<TArguments> => {
  const listeners: ((...values: TArguments) => void)[] = [];
  return {
    signal: (...values) => {
      for (const listener of listeners) listener(...values);
    },
    subscribe: (listener) => {
      listeners.push(listener);
    },
  };
};

export const createWakeUps = (): WakeUps => ({
  roomFreed: createWakeUp(),
  runnableIn: createWakeUp(),
  limitFreed: createWakeUp(),
  leaseShortened: createWakeUp(),
  awake: createWakeUp(),
});

/** A job this worker holds a lease on: buffered, running, or waiting for its outcome to be written. */
export interface HeldJob {
  job: StateJob;
  readonly leaseToken: string;
  readonly leaseMs: number;
  /** Monotonic time until which the lease is certainly ours, counted from before the store was asked. */
  leaseEndsAt: number;
  /** Set once the lease is known to be lost. */
  lost: JobAbortReason | undefined;
  /** The attempt that is running, if one is. */
  attempt: RunningAttempt | undefined;
  /** An attempt has begun. */
  began: boolean;
  /** The outcome is with the committer: a lost lease no longer aborts the handler. */
  committing: boolean;
  /** Of the attempt, while it is traced. It ends when the outcome is written or the lease is lost. */
  span: AttemptSpan | undefined;
  eventData: AttemptEventData | undefined;
  /** How long the handler ran, once it has ended. */
  ranMs: number | undefined;
  /** What the handler has logged, if it has. */
  log: AttemptLog | undefined;
  /** Of what the handler starts. */
  origin: Origin | undefined;
}

export interface RunningAttempt {
  /** Aborts the signal of the handler with this reason. */
  abort(reason: JobAbortReason): void;
}

export interface HeldJobs {
  /** `askedAt` is the monotonic time at which the claim was sent. */
  add(job: StateJob, leaseToken: string, leaseMs: number, askedAt: number): HeldJob;
  remove(held: HeldJob): void;
  get(jobId: string): HeldJob | undefined;
  all(): IterableIterator<HeldJob>;
  readonly size: number;
  /** The shortest lease seen, which sets the pace of the heartbeat. */
  readonly shortestLeaseMs: number;
}

// Clocks of two machines run at slightly different rates; stop trusting a lease a little before it ends.
const trustedShare = 0.95;

export const trustedLeaseEnd = (askedAt: number, leaseMs: number): number => askedAt + leaseMs * trustedShare;

export const isLeaseTrusted = (held: HeldJob, clock: Clock): boolean =>
  held.lost === undefined && clock.monotonic() < held.leaseEndsAt;

/** Marks a lease as lost and aborts the handler. */
export const loseLease = (held: HeldJob, reason: JobAbortReason): void => {
  if (held.lost !== undefined) return;
  held.lost = reason;
  held.attempt?.abort(reason);
};

export const createHeldJobs = (
  workerLeaseMs: number,
  crashIsolation: CrashIsolation,
  { leaseShortened }: WakeUps,
): HeldJobs => {
  const byId = new Map<string, HeldJob>();
  let shortestLeaseMs = workerLeaseMs;
  return {
    add: (job, leaseToken, leaseMs, askedAt) => {
      const held: HeldJob = {
        job,
        leaseToken,
        leaseMs,
        leaseEndsAt: trustedLeaseEnd(askedAt, leaseMs),
        lost: undefined,
        attempt: undefined,
        began: false,
        committing: false,
        span: undefined,
        eventData: undefined,
        ranMs: undefined,
        log: undefined,
        origin: undefined,
      };
      // Our own expired lease on the same job: the store has just proved that it is over.
      const earlier = byId.get(job.id);
      if (earlier) loseLease(earlier, "taken_by_another_worker");
      else crashIsolation.hold();
      byId.set(job.id, held);
      if (leaseMs < shortestLeaseMs) {
        shortestLeaseMs = leaseMs;
        leaseShortened.signal();
      }
      return held;
    },
    remove: (held) => {
      if (byId.get(held.job.id) !== held) return;
      byId.delete(held.job.id);
      crashIsolation.drop();
    },
    get: (jobId) => byId.get(jobId),
    all: () => byId.values(),
    get size() {
      return byId.size;
    },
    get shortestLeaseMs() {
      return shortestLeaseMs;
    },
  };
};
