import { decodePayload } from "../base/codec.ts";
import { InvalidOptionError } from "../base/errors.ts";
import { readProperty } from "../base/options.ts";
import type { StateStore } from "../engine/dispatch.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { validateAgainstSchema } from "../job-types/registry.ts";
import { encodeOutput, isContinuedResult, isFailedResult, readBatchResults } from "../jobs/complete.ts";
import { type JobView, viewJob } from "../jobs/view.ts";
import { linkBlockers, runInSpan } from "../observability/observe.ts";
import type { StateSequence } from "../store/contract/job.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../store/errors.ts";
import { Attempt, type AttemptCall, createController } from "./attempt.ts";
import type { Handler, WorkerContext } from "./context.ts";
import type { AttemptLog, HeldJob, WriteLog } from "./held-jobs.ts";
import { BlockersUnread, type Ending, StoredInputRefused, type Verdict } from "./outcome.ts";
import { createHandlerSession, type HandlerSession } from "./session.ts";
import type { CompletedCall, HandlerCall } from "./transactions.ts";

/** Called exactly once for each job, when its attempt is over. */
export type OnAttemptOver = (held: HeldJob, verdict: Verdict, abandoned: boolean) => void;

/**
 * What handlers and their middleware get, most of it made on demand: short jobs use nothing but the job. Classes, because
 * accessors in an object literal cost every job its own hidden class; these are shared.
 */
class CallOptions {
  readonly workerId: string;
  readonly #call: Call;

  constructor(call: Call) {
    this.workerId = call.worker.settings.workerId;
    this.#call = call;
  }

  static callOf(options: CallOptions): Call {
    return options.#call;
  }

  get signal(): AbortSignal {
    return this.#call.getSignal();
  }

  get complete(): unknown {
    return this.#call.getSession().complete;
  }

  get log(): WriteLog {
    return this.#call.getLog().write;
  }
}

class HandlerOptions extends CallOptions {
  readonly job: JobView;

  constructor(call: Call) {
    super(call);
    this.job = call.called[0]!.view!;
  }

  get prepare(): unknown {
    return CallOptions.callOf(this).getSession().prepare();
  }

  get reportProgress(): unknown {
    return CallOptions.callOf(this).getSession().reportProgress;
  }
}

class BatchOptions extends CallOptions {
  readonly jobs: readonly JobView[];

  constructor(call: Call) {
    super(call);
    this.jobs = call.called.map(({ view }) => view!);
  }

  readonly signalOf = (job: unknown): AbortSignal => {
    const id = readProperty(job, "id");
    const member = CallOptions.callOf(this).called.find(({ held }) => held.job.id === id);
    if (!member) throw new InvalidOptionError("job", "must be one of the jobs of this batch", job);
    return member.getSignal();
  };
}

/**
 * Reads what the handler is to get. Ends the attempts at jobs that cannot be read; the others continue. A promise only where
 * something has to be waited for.
 */
const readMembers = ({ worker, members }: Call): Promise<void> | undefined => {
  const { engine } = worker;
  const hasSchema = engine.jobTypes.get(members[0]!.held.job.typeName).input !== undefined;
  let stored: Map<Attempt, unknown> | undefined;
  for (const member of members) {
    const { job } = member.held;
    try {
      const input = decodePayload(engine.codec, job.input, "input");
      if (hasSchema || job.blockerCount > 0) (stored ??= new Map()).set(member, input);
      else member.view = viewJob(engine, job, [], input);
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
  return stored && validateAndReadBlockers(engine.store, stored, members.length > 1);
};

const validateAndReadBlockers = async (
  store: StateStore,
  stored: ReadonlyMap<Attempt, unknown>,
  shared: boolean,
): Promise<void> => {
  const inputs = new Map<Attempt, unknown>();
  for (const [member, input] of stored) {
    try {
      inputs.set(member, await validateInput(member, input));
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
  const blocked = [...inputs.keys()].filter(({ held }) => held.job.blockerCount > 0);
  let blockers: readonly (readonly StateSequence[])[];
  try {
    blockers = await readBlockers(store, blocked);
  } catch (error) {
    for (const member of inputs.keys()) member.settle({ kind: "threw", error, shared });
    return;
  }
  const byMember = new Map(blocked.map((member, index) => [member, blockers[index]!]));
  for (const [member, input] of inputs) {
    const { worker, held } = member;
    try {
      member.view = viewJob(worker.engine, held.job, byMember.get(member) ?? [], input);
    } catch (error) {
      member.settle({ kind: "threw", error });
    }
  }
};

const validateInput = async ({ worker, held }: Attempt, stored: unknown): Promise<unknown> => {
  const { typeName } = held.job;
  const type = worker.engine.jobTypes.get(typeName);
  if (!type.input) return stored;
  try {
    return (await validateAgainstSchema(type, typeName, "input", stored)).value;
  } catch (error) {
    throw new StoredInputRefused(error);
  }
};

/** A transient error is told apart from those of the handler, which has not run yet. */
const readBlockers = async (
  store: StateStore,
  members: readonly Attempt[],
): Promise<readonly (readonly StateSequence[])[]> => {
  if (members.length === 0) return [];
  let found: readonly (readonly StateSequence[])[];
  try {
    found = await store.getBlockers({ jobIds: members.map(({ held }) => held.job.id) });
  } catch (error) {
    throw store.isTransientError(error) ? new BlockersUnread(error) : error;
  }
  for (const [index, { held }] of members.entries())
    if (held.span && found[index]!.length > 0) linkBlockers(held.span, found[index]!);
  return found;
};

const continuedWithoutComplete =
  "`continueWith` creates jobs in the transaction of `complete`. Return what it gives you from the callback of `complete`";

/** The ending of a job whose output is encoded. A promise only where its type has a schema. */
const endingOfOutput = ({ worker, held }: Attempt, returned: unknown): Ending | Promise<Ending> => {
  try {
    const output = encodeOutput(worker.engine, held.job, returned);
    if (typeof output === "string") return { kind: "returned", output };
    return output.then(
      (encoded): Ending => ({ kind: "returned", output: encoded }),
      (error: unknown): Ending => ({ kind: "threw", error }),
    );
  } catch (error) {
    return { kind: "threw", error };
  }
};

/** The ending of a job by its result in the array that a batch handler has returned. */
const endingOfResult = (member: Attempt, result: unknown): Ending | Promise<Ending> => {
  if (isFailedResult(result)) return { kind: "threw", error: result.error };
  if (isContinuedResult(result))
    return { kind: "threw", error: new ProcessMisuseError(continuedWithoutComplete) };
  return endingOfOutput(member, result);
};

const failureOf = ({ held }: Attempt, committed: CompletedCall | undefined): Ending | undefined => {
  const { id } = held.job;
  return committed?.failures.has(id) ? { kind: "threw", error: committed.failures.get(id) } : undefined;
};

/** `complete` has committed: the job was completed, has failed, or was lost before. */
const endingWhenCommitted = (member: Attempt, committed: CompletedCall): Ending => {
  if (member.completed) return { kind: "returned", output: undefined };
  const error = new JobAttemptEndedError(member.held.job.id, member.abortReason ?? "it was left out");
  return failureOf(member, committed) ?? { kind: "threw", error };
};

/**
 * One call of a handler, with one job, or with several where it is a batch handler:
 *
 *   begin        each attempt: time limit, span, event                      attempt.ts
 *   read         inputs and blockers; a job that cannot be read ends here
 *   run          the handler in its scope, with the jobs that are left      session.ts, transactions.ts
 *   finish       encode the outputs, or roll back what is left open
 *   settle       each attempt: decide its outcome                           outcome.ts
 *   hand over    outcomes to the committer; free the slot                   consumer.ts, committer.ts
 *
 * `onOver` is called for each job, and `onCallOver` once all of them are over: the call no longer needs its slot.
 */
export const runCall = (
  worker: WorkerContext,
  jobs: readonly HeldJob[],
  handler: Handler,
  onOver: OnAttemptOver,
  onCallOver: (first: HeldJob) => void,
): void => {
  const call = new Call(worker, jobs, handler, onOver, onCallOver);
  for (const member of call.members) member.begin();
  const span = call.isBatch ? undefined : jobs[0]!.span;
  const running = span ? runInSpan(span, () => call.run()) : call.run();
  running.then(
    (returned) => call.finish(returned),
    (error: unknown) => call.fail(error),
  );
};

class Call implements AttemptCall, HandlerCall {
  readonly worker: WorkerContext;
  readonly handler: Handler;
  readonly isBatch: boolean;
  readonly members: readonly Attempt[];
  readonly onOver: OnAttemptOver;
  readonly onCallOver: (first: HeldJob) => void;
  /** The members that the handler was called with. */
  called: readonly Attempt[] = [];
  abortReason: JobAbortReason | undefined = undefined;
  controller: AbortController | undefined = undefined;
  session: HandlerSession | undefined = undefined;
  synchronousPartOver = false;
  cancelGrace: (() => void) | undefined = undefined;
  /** Attempts that are not over. */
  open: number;
  /** Of these, the ones that have not been aborted. */
  wanted: number;

  constructor(
    worker: WorkerContext,
    jobs: readonly HeldJob[],
    handler: Handler,
    onOver: OnAttemptOver,
    onCallOver: (first: HeldJob) => void,
  ) {
    this.worker = worker;
    this.handler = handler;
    this.isBatch = handler.batch !== undefined;
    this.onOver = onOver;
    this.onCallOver = onCallOver;
    this.open = jobs.length;
    this.wanted = jobs.length;
    this.members = jobs.map((held) => new Attempt(worker, held, this));
  }

  /** One aborted job leaves the call to the others. Once none is left, the handler has a while to react. */
  memberAborted(reason: JobAbortReason): void {
    const { engine, settings } = this.worker;
    this.wanted -= 1;
    if (this.wanted > 0) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
    this.cancelGrace = engine.runtime.clock.setTimer(() => {
      for (const member of this.members) if (!member.over) member.giveUp();
    }, settings.abortGraceMs);
  }

  memberOver({ held }: Attempt, verdict: Verdict, abandoned: boolean, wasWanted: boolean): void {
    this.open -= 1;
    if (wasWanted) this.wanted -= 1;
    if (this.open === 0) {
      this.cancelGrace?.();
      this.session?.close();
    }
    this.onOver(held, verdict, abandoned);
    if (this.open === 0) this.onCallOver(this.members[0]!.held);
  }

  getSignal(): AbortSignal {
    return (this.controller ??= createController(this.abortReason)).signal;
  }

  getSession(): HandlerSession {
    if (this.session) return this.session;
    const call = { members: this.called, isBatch: this.isBatch };
    const session = createHandlerSession(this.worker, call, () => this.abortReason, this.synchronousPartOver);
    if (this.open === 0) session.close();
    return (this.session = session);
  }

  /** All jobs of a batch share one log: its lines can be about any of them. */
  getLog(): AttemptLog {
    const log = this.called[0]!.getLog();
    for (const { held } of this.called) held.log = log;
    return log;
  }

  /** Reads the jobs and calls the handler; at once, unless something about a job has to be waited for. */
  run(): Promise<unknown> {
    try {
      const reading = readMembers(this);
      if (!reading) return Promise.resolve(this.callHandler());
      return reading.then(() => {
        this.endUnwanted();
        return this.callHandler();
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Reading may have taken so long that another worker has a job by now. */
  endUnwanted(): void {
    for (const member of this.members) {
      if (member.over) continue;
      try {
        member.checkStillWanted();
      } catch (error) {
        member.settle({ kind: "threw", error });
      }
    }
  }

  callHandler(): unknown {
    const { members, handler, isBatch } = this;
    const { scope } = this.worker.engine;
    this.called = this.open === members.length ? members : members.filter(({ over }) => !over);
    if (this.called.length === 0) return undefined;
    // A scope without that of the code that started the worker. Jobs that a batch handler starts have no origin: they could
    // come from any job of the batch.
    const { id, rootSequenceId } = members[0]!.held.job;
    const running = isBatch
      ? scope.run({}, handler.run, new BatchOptions(this))
      : scope.run({ origin: { jobId: id, rootSequenceId } }, handler.run, new HandlerOptions(this));
    this.synchronousPartOver = true;
    this.session?.endSynchronousPart();
    return running;
  }

  finish(returned: unknown): void {
    let checked: Promise<void> | undefined;
    try {
      checked = this.session?.finish(returned);
    } catch (error) {
      this.settleThrown(error);
      return;
    }
    if (checked) {
      checked.then(
        () => this.settleReturned(returned),
        (error: unknown) => this.settleThrown(error),
      );
    } else this.settleReturned(returned);
  }

  /** Open transactions of the handler are rolled back first, unless they have committed already. */
  fail(thrown: unknown): void {
    // Reading failed before the handler was called.
    if (this.called.length === 0) this.called = this.members.filter(({ over }) => !over);
    const settle = (): void => this.settleThrown(thrown);
    const rolledBack = this.session?.abandon(thrown);
    if (rolledBack) rolledBack.then(settle, settle);
    else settle();
  }

  /** The error can be about any of several jobs. A transaction that was committed before it stands. */
  settleThrown(error: unknown): void {
    const shared = this.called.length > 1;
    for (const member of this.called)
      member.settle(failureOf(member, this.session?.committed) ?? { kind: "threw", error, shared });
  }

  settleReturned(returned: unknown): void {
    const { called, isBatch } = this;
    const committed = this.session?.committed;
    if (committed) {
      for (const member of called) member.settle(endingWhenCommitted(member, committed));
    } else if (!isBatch) {
      for (const member of called) settleWhenKnown(member, endingOfOutput(member, returned));
    } else this.settleResults(returned);
  }

  settleResults(returned: unknown): void {
    let results: readonly unknown[];
    try {
      results = readBatchResults(returned, this.called.length);
    } catch (error) {
      this.settleThrown(error);
      return;
    }
    const endings = this.called.map((member, index) => endingOfResult(member, results[index]));
    for (const [index, member] of this.called.entries()) settleWhenKnown(member, endings[index]!);
  }
}

const settleWhenKnown = (member: Attempt, ending: Ending | Promise<Ending>): void => {
  if (ending instanceof Promise) void ending.then((known) => member.settle(known));
  else member.settle(ending);
};
