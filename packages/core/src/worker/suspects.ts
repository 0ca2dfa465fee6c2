import { attemptLimit } from "./decide-outcome.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/**
 * A suspect is a job whose lease has run out before and that is at its last attempt: it may be what took its process
 * down. It runs alone in its process; `crash-isolation.ts` says how. This is one worker's side of it.
 */
export interface Suspects {
  /** A claim has been answered. Whatever turn it was made in is over. */
  beginClaim(): void;
  /** What to do with a claimed job: let it wait for a slot, give it back, or nothing, as it waits here to run alone. */
  place(job: HeldJob): "buffer" | "giveBack" | "waits";
  /** All jobs of the claim have been placed. */
  endClaim(): void;
  /** Starts the suspect that waits here if nothing else is in the process, or drops it when its lease is gone. */
  pump(start: (job: HeldJob) => void, drop: (job: HeldJob) => void): void;
  /** A job of this worker has left its slot. */
  leave(job: HeldJob): void;
  /** No suspect is run any more; one that waits here is given back. */
  stop(giveBack: (job: HeldJob) => void): void;
  /** How many suspects wait here: none or one. */
  readonly waiting: number;
}

export const createSuspects = (worker: WorkerContext): Suspects => {
  const { crashIsolation, engine } = worker;
  const { clock } = engine.runtime;
  let waiting: HeldJob | undefined;
  let runningAlone: HeldJob | undefined;
  let metSuspect = false;

  const isSuspect = ({ job }: HeldJob): boolean =>
    job.expiredLeases > 0 && job.attempt >= attemptLimit(worker, job);

  return {
    beginClaim: () => {
      // Nothing runs now if this is what the turn was for, so a suspect that the claim has brought may wait here.
      crashIsolation.endTurn(worker);
      metSuspect = false;
    },
    place: (job) => {
      if (crashIsolation.isReserved || metSuspect) return "giveBack";
      if (!isSuspect(job)) return "buffer";
      if (!crashIsolation.isQuiet) {
        metSuspect = true;
        return "giveBack";
      }
      waiting = job;
      crashIsolation.requestAlone();
      return "waits";
    },
    endClaim: () => {
      if (metSuspect) crashIsolation.requestTurn(worker);
    },
    pump: (start, drop) => {
      const job = waiting;
      if (!job) return;
      const trusted = isLeaseTrusted(job, clock);
      if (trusted && !crashIsolation.tryEnter(true)) return;
      waiting = undefined;
      if (trusted) {
        runningAlone = job;
        start(job);
      } else drop(job);
      crashIsolation.withdrawRequest();
    },
    leave: (job) => {
      const alone = job === runningAlone;
      if (alone) runningAlone = undefined;
      crashIsolation.leave(alone);
    },
    stop: (giveBack) => {
      crashIsolation.endTurn(worker);
      const job = waiting;
      if (!job) return;
      waiting = undefined;
      giveBack(job);
      crashIsolation.withdrawRequest();
    },
    get waiting() {
      return waiting ? 1 : 0;
    },
  };
};
