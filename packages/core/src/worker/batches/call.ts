import { decodePayload } from "../../base/codec.ts";
import { InvalidOptionError } from "../../base/errors.ts";
import { readProperty } from "../../base/options.ts";
import type { JobAbortReason } from "../../job-types/entities.ts";
import { encodeOutput, isContinuedPlace, isFailedPlace, readBatchResults } from "../../jobs/complete.ts";
import { type JobView, viewJob } from "../../jobs/view.ts";
import { linkBlockers } from "../../observability/observe.ts";
import type { StateSequence } from "../../store/contract/job.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../../store/errors.ts";
import { createController, getBlockers, type OnAttemptOver, validateInput } from "../attempt.ts";
import type { Handler, WorkerContext } from "../context.ts";
import type { AttemptLog, HeldJob, WriteLog } from "../held-jobs.ts";
import type { Ending } from "../outcome.ts";
import { type BatchSession, createBatchSession } from "../session.ts";
import type { CompletedBatch } from "../transactions.ts";
import { BatchMember, type BatchOfMember } from "./member.ts";

// How a call of a batch handler ended for each of its jobs.

const continuedWithoutComplete =
  "`continueWith` creates jobs in the transaction of `complete`. Return what it gives you from the callback of `complete`";

/** By what the handler has returned in the place of the job. */
const endingOfResult = ({ worker, held }: BatchMember, place: unknown): Ending | Promise<Ending> => {
  if (isFailedPlace(place)) return { kind: "threw", error: place.error };
  try {
    if (isContinuedPlace(place)) throw new ProcessMisuseError(continuedWithoutComplete);
    const output = encodeOutput(worker.engine, held.job, place);
    if (typeof output === "string") return { kind: "returned", output };
    return output.then(
      (encoded): Ending => ({ kind: "returned", output: encoded }),
      (error: unknown): Ending => ({ kind: "threw", error }),
    );
  } catch (error) {
    return { kind: "threw", error };
  }
};

const failureOf = ({ held }: BatchMember, committed: CompletedBatch | undefined): Ending | undefined => {
  const { id } = held.job;
  return committed?.failures.has(id) ? { kind: "threw", error: committed.failures.get(id) } : undefined;
};

/** `complete` has committed: a job was completed, or had failed, or was lost before. */
const endingsWhenCommitted = (
  members: readonly BatchMember[],
  committed: CompletedBatch,
): readonly Ending[] =>
  members.map((member) => {
    if (member.completed) return { kind: "returned", output: undefined };
    const error = new JobAttemptEndedError(member.held.job.id, member.abortReason ?? "it was left out");
    return failureOf(member, committed) ?? { kind: "threw", error };
  });

/** Nobody knows which of several jobs the error is about. What has been committed before it stands. */
const endingsWhenThrown = (
  members: readonly BatchMember[],
  committed: CompletedBatch | undefined,
  error: unknown,
): readonly Ending[] => {
  const shared = members.length > 1;
  return members.map((member) => failureOf(member, committed) ?? { kind: "threw", error, shared });
};

/** What the options of a batch handler are made from. */
export interface CalledBatch {
  readonly worker: WorkerContext;
  readonly called: readonly BatchMember[];
  getSignal(): AbortSignal;
  getSession(): BatchSession;
  getLog(): AttemptLog;
}

/** What a batch handler and its middleware are given, most of it made on demand. */
class BatchOptions {
  readonly jobs: readonly JobView[];
  readonly workerId: string;
  readonly #batch: CalledBatch;

  constructor(batch: CalledBatch) {
    this.jobs = batch.called.map(({ view }) => view!);
    this.workerId = batch.worker.settings.workerId;
    this.#batch = batch;
  }

  get signal(): AbortSignal {
    return this.#batch.getSignal();
  }

  readonly signalOf = (job: unknown): AbortSignal => {
    const id = readProperty(job, "id");
    const member = this.#batch.called.find(({ held }) => held.job.id === id);
    if (!member) throw new InvalidOptionError("job", "must be one of the jobs of this batch", job);
    return member.getSignal();
  };

  get log(): WriteLog {
    return this.#batch.getLog().write;
  }

  get complete(): unknown {
    return this.#batch.getSession().complete;
  }
}

/**
 * Reads what the handler is to be given. Ends the attempts at jobs that cannot be read or are no longer held; the others
 * go on. A promise only where something has to be waited for.
 */
const readBatch = ({ engine }: WorkerContext, members: readonly BatchMember[]): Promise<void> | undefined => {
  const { typeName } = members[0]!.held.job;
  const hasSchema = engine.jobTypes.get(typeName).input !== undefined;
  const stored = new Map<BatchMember, unknown>();
  for (const member of members) {
    endIfItThrows(member, () =>
      stored.set(member, decodePayload(engine.codec, member.held.job.input, "input")),
    );
  }
  if (hasSchema || members.some(({ held }) => held.job.blockerCount > 0)) {
    return readSlowly([...stored.keys()], stored);
  }
  for (const [member, input] of stored) member.view = viewJob(engine, member.held.job, [], input);
  return undefined;
};

const readSlowly = async (
  members: readonly BatchMember[],
  stored: ReadonlyMap<BatchMember, unknown>,
): Promise<void> => {
  let blockers: ReadonlyMap<BatchMember, readonly StateSequence[]>;
  try {
    blockers = await readBlockersOfAll(members);
  } catch (error) {
    const shared = members.length > 1;
    for (const member of members) member.settle({ kind: "threw", error, shared });
    return;
  }
  await Promise.all(
    members.map(async (member) => {
      const { engine } = member.worker;
      try {
        const { input } = engine.jobTypes.get(member.held.job.typeName);
        const value = input ? await validateInput(member, stored.get(member)) : stored.get(member);
        member.view = viewJob(engine, member.held.job, blockers.get(member) ?? [], value);
      } catch (error) {
        member.settle({ kind: "threw", error });
      }
    }),
  );
};

const readBlockersOfAll = async (
  members: readonly BatchMember[],
): Promise<ReadonlyMap<BatchMember, readonly StateSequence[]>> => {
  const blocked = members.filter(({ held }) => held.job.blockerCount > 0);
  if (blocked.length === 0) return new Map();
  const { store } = blocked[0]!.worker.engine;
  const jobIds = blocked.map(({ held }) => held.job.id);
  const found = await getBlockers(store, jobIds);
  for (const [index, { held }] of blocked.entries()) {
    if (held.span && found[index]!.length > 0) linkBlockers(held.span, found[index]!);
  }
  return new Map(blocked.map((member, index) => [member, found[index]!]));
};

const endIfItThrows = (member: BatchMember, read: () => void): void => {
  try {
    read();
  } catch (error) {
    member.settle({ kind: "threw", error });
  }
};

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
      const places = readBatchResults(returned, this.called.length);
      this.settle(this.called.map((member, index) => endingOfResult(member, places[index])));
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
