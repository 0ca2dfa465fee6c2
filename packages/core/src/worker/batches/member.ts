import type { JobAbortReason } from "../../job-types/entities.ts";
import type { JobView } from "../../jobs/view.ts";
import { Attempt, type OnAttemptOver } from "../attempt.ts";
import type { Handler, WorkerContext } from "../context.ts";
import type { HeldJob } from "../held-jobs.ts";
import type { EndedAttempt, EndedSession } from "../outcome.ts";

/** What an attempt has to tell the batch it is in. */
export interface BatchOfMember {
  memberAborted(reason: JobAbortReason): void;
  /** It has ended without having been aborted. */
  memberEnded(): void;
  /** Undefined where the handler has not used `complete`. */
  readonly session: Pick<EndedSession, "failure" | "transientFailure"> | undefined;
}

/** The attempt at one job of a batch. The call, and with it the time to react to an abort, belongs to the batch. */
export class BatchMember extends Attempt {
  readonly batch: BatchOfMember;
  view: JobView | undefined = undefined;
  /** The job was completed in the transaction of the batch. */
  completed = false;

  constructor(
    worker: WorkerContext,
    held: HeldJob,
    handler: Handler,
    onOver: OnAttemptOver,
    batch: BatchOfMember,
  ) {
    super(worker, held, handler, onOver);
    this.batch = batch;
  }

  /** A worker that shuts down still wants what its handlers get done in time. */
  get isWanted(): boolean {
    return !this.over && (this.abortReason === undefined || this.abortReason === "shutdown");
  }

  override awaitReaction(): void {
    this.batch.memberAborted(this.abortReason!);
  }

  override close(): void {
    super.close();
    if (this.abortReason === undefined) this.batch.memberEnded();
  }

  override getEnded(): EndedAttempt {
    const { worker, held, timeoutMs, abortReason, completed } = this;
    const { session } = this.batch;
    return {
      worker,
      held,
      timeoutMs,
      abortReason,
      session: session && {
        completed,
        failure: session.failure,
        transientFailure: session.transientFailure,
      },
    };
  }
}
