import { readPlaces } from "../engine/batch-places.ts";
import type { JobAbortReason } from "../model/entities.ts";
import type { AttemptLog } from "./attempt-log.ts";
import { createController, type OnAttemptOver } from "./attempt.ts";
import { endingOfPlace, endingsWhenCommitted, endingsWhenThrown } from "./batch-endings.ts";
import { BatchMember, type BatchOfMember } from "./batch-member.ts";
import { BatchOptions } from "./batch-options.ts";
import { type BatchSession, createBatchSession } from "./batch-session.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { Ending } from "./judge-ending.ts";
import { readBatch } from "./read-batch.ts";
import type { Handler, WorkerContext } from "./worker-context.ts";

/**
 * One call of a batch handler, from top to bottom:
 *
 *   begin      each attempt on its own: time limit, span, event               attempt.ts
 *   read       inputs and blockers; a job that cannot be read ends here       read-batch.ts
 *   call       the handler, with the jobs that are left                       batch-options.ts, batch-session.ts
 *   settle     each attempt on its own: judged, handed over, ended            batch-endings.ts, judge-ending.ts
 *
 * `onOver` is called for each job, and `onBatchOver` once all of them are over: the call no longer needs its slot.
 */
export const runBatch = (
  worker: WorkerContext,
  jobs: readonly HeldJob[],
  handler: Handler,
  onOver: OnAttemptOver,
  onBatchOver: () => void,
): void => {
  const batch = new BatchRun(worker, jobs, handler, onOver, onBatchOver);
  for (const member of batch.members) member.begin();
  const reading = readBatch(worker, batch.members);
  if (reading) reading.then(() => batch.call(), ignoreReported);
  else batch.call();
};

/** `readBatch` does not fail: what goes wrong is the end of the jobs it goes wrong for. */
const ignoreReported = (): void => {};

/** Reading the others may have taken so long that the job is somebody else's by now. */
const endUnlessWanted = (member: BatchMember): boolean => {
  try {
    member.checkStillWanted();
    return true;
  } catch (error) {
    member.settle({ kind: "threw", error });
    return false;
  }
};

class BatchRun implements BatchOfMember {
  readonly worker: WorkerContext;
  readonly handler: Handler;
  readonly members: readonly BatchMember[];
  readonly onOver: OnAttemptOver;
  readonly onBatchOver: () => void;
  /** The members that the handler was called with. */
  called: readonly BatchMember[] = [];
  abortReason: JobAbortReason | undefined = undefined;
  controller: AbortController | undefined = undefined;
  session: BatchSession | undefined = undefined;
  settling = false;
  cancelGrace: (() => void) | undefined = undefined;
  /** How many attempts are not over. */
  open: number;
  /** How many of them have not been aborted. */
  wanted: number;

  constructor(
    worker: WorkerContext,
    jobs: readonly HeldJob[],
    handler: Handler,
    onOver: OnAttemptOver,
    onBatchOver: () => void,
  ) {
    this.worker = worker;
    this.handler = handler;
    this.onOver = onOver;
    this.onBatchOver = onBatchOver;
    this.open = jobs.length;
    this.wanted = jobs.length;
    this.members = jobs.map((held) => new BatchMember(worker, held, handler, this.leave, this));
  }

  readonly leave: OnAttemptOver = (held, verdict, abandoned) => {
    this.open -= 1;
    this.onOver(held, verdict, abandoned);
    if (this.open > 0) return;
    this.cancelGrace?.();
    this.session?.close();
    this.onBatchOver();
  };

  /** One aborted job leaves the call to the others. Once none is left, the handler has a while to react. */
  memberAborted(reason: JobAbortReason): void {
    const { engine, settings } = this.worker;
    this.wanted -= 1;
    if (this.wanted > 0 || this.settling) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
    this.cancelGrace = engine.runtime.clock.setTimer(() => {
      for (const member of this.members) if (!member.over) member.giveUp();
    }, settings.abortGraceMs);
  }

  memberEnded(): void {
    this.wanted -= 1;
  }

  getSignal(): AbortSignal {
    return (this.controller ??= createController(this.abortReason)).signal;
  }

  getSession(): BatchSession {
    if (this.session) return this.session;
    this.session = createBatchSession(this.worker, this.called, () => this.abortReason);
    if (this.open === 0) this.session.close();
    return this.session;
  }

  /** One for all jobs: nobody knows which of them a line is about. */
  getLog(): AttemptLog {
    const log = this.called[0]!.getLog();
    for (const { held } of this.called) held.log = log;
    return log;
  }

  call(): void {
    this.called = this.members.filter((member) => !member.over && endUnlessWanted(member));
    if (this.called.length === 0) return;
    this.run().then(
      (returned) => this.finish(returned),
      (error: unknown) => this.fail(error),
    );
  }

  /** Always a promise, whatever the handler is. */
  async run(): Promise<unknown> {
    // What the handler starts has no origin: nobody knows which of the jobs that would be.
    return this.worker.engine.scope.run({}, this.handler.run, new BatchOptions(this));
  }

  finish(returned: unknown): void {
    if (!this.session) {
      this.settleReturned(returned);
      return;
    }
    this.session.finish(returned).then(
      () => this.settleReturned(returned),
      (error: unknown) => this.settle(endingsWhenThrown(this.called, this.session?.committed, error)),
    );
  }

  /** What the handler has left open is rolled back first, unless that has committed already. */
  fail(thrown: unknown): void {
    const settle = (): void => this.settle(endingsWhenThrown(this.called, this.session?.committed, thrown));
    if (this.session) this.session.abandon().then(settle, settle);
    else settle();
  }

  settleReturned(returned: unknown): void {
    const committed = this.session?.committed;
    if (committed) {
      this.settle(endingsWhenCommitted(this.called, committed));
      return;
    }
    try {
      const places = readPlaces(returned, this.called.length);
      this.settle(this.called.map((member, index) => endingOfPlace(member, places[index])));
    } catch (error) {
      this.settle(endingsWhenThrown(this.called, undefined, error));
    }
  }

  settle(endings: readonly (Ending | Promise<Ending>)[]): void {
    this.settling = true;
    for (const [index, ending] of endings.entries()) {
      const member = this.called[index]!;
      if (ending instanceof Promise) void ending.then((awaited) => member.settle(awaited));
      else member.settle(ending);
    }
  }
}
