import { InvalidOptionError } from "../base/errors.ts";
import { readableThrown } from "../base/stored-error.ts";
import type { Origin } from "../engine/engine.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import { encodeOutput, isContinuedResult, isFailedResult, readBatchResults } from "../jobs/complete.ts";
import type { JobView } from "../jobs/view.ts";
import { runInSpan } from "../observability/observe.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../store/errors.ts";
import { Attempt, type AttemptCall, createController, readJobs } from "./attempt.ts";
import type { Handler, WorkerContext } from "./context.ts";
import type { AttemptLog, HeldJob, WriteLog } from "./held-jobs.ts";
import type { Ending, Outcome } from "./outcome.ts";
import { createHandlerSession, type HandlerSession } from "./session.ts";
import type { CompletedCall, HandlerCall } from "./transactions.ts";

/** Learns of the end of a call. */
export interface CallOwner {
  /** Called exactly once for each job, when its attempt is over. */
  finishJob(held: HeldJob, outcome: Outcome, abandoned: boolean): void;
  /** Called once all attempts are over: the call that began with this job no longer needs its slot. */
  endCall(first: HeldJob): void;
}

/**
 * What handlers and their middleware get, most of it made on demand: short jobs use nothing but the job. Classes, because
 * accessors in an object literal cost every job its own hidden class; these are shared.
 */
class HandlerOptions {
  readonly job: JobView;
  readonly workerId: string;
  readonly #call: Call;

  constructor(call: Call) {
    this.job = call.called[0]!.view!;
    this.workerId = call.worker.settings.workerId;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.getSignal();
  }

  get prepare(): unknown {
    return this.#call.getSession().prepare();
  }

  get complete(): unknown {
    return this.#call.getSession().complete;
  }

  get reportProgress(): unknown {
    return this.#call.getSession().reportProgress;
  }

  get log(): WriteLog {
    return this.#call.getLog().write;
  }
}

class BatchOptions {
  readonly jobs: readonly JobView[];
  readonly workerId: string;
  readonly #call: Call;

  constructor(call: Call) {
    this.jobs = call.called.map(({ view }) => view!);
    this.workerId = call.worker.settings.workerId;
    this.#call = call;
  }

  readonly signalOf = (job: unknown): AbortSignal => {
    const id = (job as Partial<JobView> | undefined)?.id;
    const member = this.#call.called.find(({ held }) => held.job.id === id);
    if (!member) throw new InvalidOptionError("job", "must be one of the jobs of this batch", job);
    return member.getSignal();
  };

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

/**
 * Makes the accessors of the class own properties, so that `({ job, ...rest })` finds them. A proxy, because own accessors would
 * cost every job microseconds; the accessors run with the instance, which has the private field.
 */
const withOwnAccessors = <TOptions extends object>(
  names: readonly (string & keyof TOptions)[],
): ProxyHandler<TOptions> => ({
  get: (options, name) => options[name as keyof TOptions],
  ownKeys: (options) => [...Reflect.ownKeys(options), ...names],
  getOwnPropertyDescriptor: (options, name) =>
    (names as readonly PropertyKey[]).includes(name)
      ? { get: () => options[name as keyof TOptions], enumerable: true, configurable: true }
      : Reflect.getOwnPropertyDescriptor(options, name),
});

const handlerAccessors = withOwnAccessors<HandlerOptions>([
  "signal",
  "prepare",
  "complete",
  "reportProgress",
  "log",
]);

const batchAccessors = withOwnAccessors<BatchOptions>(["signal", "complete", "log"]);

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
 */
export const runCall = (
  worker: WorkerContext,
  jobs: readonly HeldJob[],
  handler: Handler,
  owner: CallOwner,
): void => {
  const call = new Call(worker, jobs, handler, owner);
  for (const member of call.members) member.begin();
  const span = call.isBatch ? undefined : jobs[0]!.span;
  const running = span ? runInSpan(span, () => call.run()) : call.run();
  running.then(
    (returned) => call.finish(returned),
    (thrown: unknown) => call.fail(readableThrown(thrown)),
  );
};

const noMembers: readonly Attempt[] = [];

class Call implements AttemptCall, HandlerCall {
  readonly worker: WorkerContext;
  readonly handler: Handler;
  readonly members: readonly Attempt[];
  readonly owner: CallOwner;
  /** The members that the handler was called with. */
  called: readonly Attempt[] = noMembers;
  abortReason: JobAbortReason | undefined = undefined;
  controller: AbortController | undefined = undefined;
  session: HandlerSession | undefined = undefined;
  synchronousPartOver = false;
  cancelGrace: (() => void) | undefined = undefined;
  /** Attempts that are not over. */
  open: number;
  /** Of these, the ones that have not been aborted. */
  wanted: number;

  constructor(worker: WorkerContext, jobs: readonly HeldJob[], handler: Handler, owner: CallOwner) {
    this.worker = worker;
    this.handler = handler;
    this.owner = owner;
    this.open = jobs.length;
    this.wanted = jobs.length;
    // Nearly every call has one member.
    this.members =
      jobs.length === 1
        ? [new Attempt(worker, jobs[0]!, this)]
        : jobs.map((held) => new Attempt(worker, held, this));
  }

  get isBatch(): boolean {
    return this.handler.batch !== undefined;
  }

  /** One aborted job leaves the call to the others. Once none is left, the handler has `abortGraceMs` to react. */
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

  memberOver({ held }: Attempt, outcome: Outcome, abandoned: boolean, wasWanted: boolean): void {
    this.open -= 1;
    if (wasWanted) this.wanted -= 1;
    if (this.open === 0) {
      this.cancelGrace?.();
      this.session?.close();
    }
    this.owner.finishJob(held, outcome, abandoned);
    if (this.open === 0) this.owner.endCall(this.members[0]!.held);
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
      const reading = readJobs(this.worker, this.members);
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
    const { held } = members[0]!;
    const { id, rootSequenceId } = held.job;
    const origin: Origin = { jobId: id, rootSequenceId, attempt: members[0]! };
    if (!isBatch) held.origin = origin;
    const running = isBatch
      ? scope.run({}, handler.run, new Proxy(new BatchOptions(this), batchAccessors))
      : scope.run({ origin }, handler.run, new Proxy(new HandlerOptions(this), handlerAccessors));
    this.synchronousPartOver = true;
    this.session?.endSynchronousPart();
    return running;
  }

  finish(returned: unknown): void {
    if (this.called.length === 0) return;
    if (!this.session) {
      this.settleReturned(returned);
      return;
    }
    let checked: Promise<void> | undefined;
    try {
      checked = this.session.finish(returned);
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
      member.settle(failureOf(member, this.session?.committed()) ?? { kind: "threw", error, shared });
  }

  settleReturned(returned: unknown): void {
    const { called, isBatch } = this;
    const committed = this.session?.committed();
    if (committed) {
      for (const member of called) member.settle(endingWhenCommitted(member, committed));
    } else if (isBatch) this.settleResults(returned);
    else settleWhenKnown(called[0]!, endingOfOutput(called[0]!, returned));
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
