import {
  type AnyJob,
  createLeasehold,
  defineUnionJobTypes,
  LeaseholdError,
  rescheduleJob,
  StoreCallTimeoutError,
  type StoredError,
  UnrecoverableJobError,
} from "leasehold";
import { actionQueue, actionTypeName, type AnyStateAdapter, storageOptionsOf } from "leasehold/adapter";
import { setTimeout as sleep } from "node:timers/promises";
import type { ActionKind, ActionProgress, LoggedAction } from "../answers/jobs.ts";
import { HttpError, notFound } from "../http/errors.ts";
import { type AnyLeasehold, toJson } from "../http/leasehold.ts";
import { type Choice, plannedActions, type Portion, restoreChoice, type StoredChoice } from "./action.ts";

/** What an action has done so far. It is reported after each portion; the next attempt continues at `cursor`. */
interface Counts {
  readonly changed: number;
  readonly revived: number;
  readonly skipped: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly cursor: string | null;
}

interface ActionInput {
  readonly user: string;
  /** An `ActionKind`, or the name of a change that `record` wrote down. */
  readonly kind: string;
  readonly choice: object;
  /** Jobs per second; null for no limit. */
  readonly pace: number | null;
  /** How many jobs the plan was about; null where that is not known. */
  readonly expected: number | null;
  /** Who resumed the action last, and what it had done before; null if it was never resumed. */
  readonly resumed: { readonly by: string; readonly from: Counts } | null;
}

const nothingDone: Counts = { changed: 0, revived: 0, skipped: 0, reasons: {}, cursor: null };

/** Of a change that `record` wrote down. Its result is not stored: it may contain payloads. */
interface Recorded {
  readonly state: "done" | "failed";
}

const keptMs = 365 * 86_400_000;

const jobTypes = defineUnionJobTypes<{
  [actionTypeName]: { input: ActionInput; output: Counts | Recorded };
}>({
  [actionTypeName]: {
    queue: actionQueue,
    // A job whose lease expired runs alone in its process at its last attempt. An action can take hours, so it gets many.
    maxAttempts: 20,
    retention: { completedMs: keptMs, failedMs: keptMs },
  },
});

const portionSize = 500;

const add = (counts: Counts, { changed, skipped, cursor }: Portion): Counts => {
  const reasons = { ...counts.reasons };
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    changed: counts.changed + changed.length,
    revived: counts.revived + changed.reduce((sum, { revived }) => sum + revived, 0),
    skipped: counts.skipped + skipped.length,
    reasons,
    cursor,
  };
};

/** Error messages that do not come from Leasehold may contain anything, such as the address of the database. */
const unknownError = "The store could not do it.";

/** A change of the input resets the progress of a job, so that of earlier runs is part of the input. */
const countsOf = ({ input, progress }: Pick<AnyJob, "input" | "progress">): Counts =>
  (progress as Counts | null) ?? (input as ActionInput).resumed?.from ?? nothingDone;

/** The job of a stopped action is cancelled with this and the user as its reason. */
const stoppedBy = "Stopped by ";

const findStopper = (error: StoredError | null): { readonly stoppedBy?: string } =>
  error?.message.startsWith(stoppedBy) === true ? { stoppedBy: error.message.slice(stoppedBy.length) } : {};

const progressOf = (job: AnyJob): ActionProgress => {
  const { user, resumed, expected } = job.input as ActionInput;
  const output = job.status === "completed" ? (job.output as Counts | Recorded) : undefined;
  if (output !== undefined && "state" in output) return output;
  const { cursor: _cursor, ...counts } = output ?? countsOf(job);
  const known = { ...counts, expected, error: null, by: resumed?.by ?? user };
  if (output !== undefined) return { ...known, state: "done" };
  if (job.status !== "failed") return { ...known, state: "running" };
  const { reason, error } = job.failure;
  if (reason === "cancelled") return { ...known, state: "stopped", ...findStopper(error) };
  const message = reason === "unrecoverable" ? error?.message : undefined;
  return { ...known, state: "failed", error: message ?? unknownError };
};

/** Changes to inputs are payloads: the log shows how many values change. */
const withoutValues = ({ changes, ...choice }: { readonly changes?: readonly unknown[] }): object =>
  changes === undefined ? choice : { ...choice, changedValues: changes.length };

const viewAction = (job: AnyJob): LoggedAction => {
  const { user, kind, choice, pace } = job.input as ActionInput;
  return {
    id: job.id,
    user,
    kind,
    plan: { ...withoutValues(choice), ...(pace !== null && { pace }) },
    result: progressOf(job),
    startedAt: job.createdAt.toISOString(),
  };
};

export interface ActionsOptions {
  /** The Leasehold of the application, as `hideActions` returns it. */
  readonly leasehold: AnyLeasehold;
  /** The Leasehold that was passed to `createDashboard`. */
  readonly original: object;
  readonly stateAdapter: AnyStateAdapter;
  /** Runs no actions, not even ones that another dashboard began. */
  readonly readOnly: boolean;
}

/** What people do to jobs, and the log of it. */
export interface Actions {
  /** Starts an action on many jobs and returns its id. A worker of this dashboard, or of another one, runs it. */
  begin(
    user: string,
    kind: ActionKind,
    choice: Choice,
    options: { readonly pace?: number | undefined; readonly expected?: number | undefined },
  ): Promise<string>;
  /** Continues an action that was stopped or that failed. */
  resume(user: string, kind: ActionKind, id: string): Promise<void>;
  /** Ends an action after the portion under way; false if it had ended before. */
  stop(user: string, kind: ActionKind, id: string): Promise<boolean>;
  /** Makes a small change and logs it in the same transaction. A change that fails is logged as failed. */
  record<T extends object>(
    user: string,
    kind: string,
    /** What to log; as a function, with the result of the change, or undefined if it failed. */
    choice: object | ((result: T | undefined) => object),
    change: () => Promise<T>,
  ): Promise<T>;
  get(id: string): Promise<LoggedAction>;
  /** The latest first. */
  list(
    limit: number,
    cursor: string | undefined,
  ): Promise<{ readonly actions: readonly LoggedAction[]; readonly cursor: string | null }>;
  /** Releases the actions of this process after the portion under way; another dashboard continues them. Idempotent. */
  close(): Promise<void>;
}

/** The actions of one dashboard, as jobs of a Leasehold of its own on the same store. */
export const createActions = ({ leasehold, original, stateAdapter, readOnly }: ActionsOptions): Actions => {
  /** The actions that run in this process. */
  const running = new Map<string, { readonly stop: AbortController; readonly end: Promise<unknown> }>();
  const closing = new AbortController();

  // Its work is not part of the statistics, so the page need not subtract it.
  const createOwn = () =>
    createLeasehold({ stateAdapter, jobTypes, statistics: false, ...storageOptionsOf(original) });
  type Own = Awaited<ReturnType<typeof createOwn>>;
  let opened: Promise<Own> | undefined;
  const open = (): Promise<Own> => {
    if (closing.signal.aborted) throw new HttpError(503, "closed", "The dashboard has been closed.");
    return (opened ??= createOwn());
  };

  const doPortion = async ({ user, kind, choice }: ActionInput, limit: number, cursor: string | null) => {
    const call = { choice: restoreChoice(choice as StoredChoice), limit, cursor };
    try {
      return await plannedActions[kind as ActionKind].portion(leasehold, {
        ...call,
        dryRun: false,
        original,
        reason: `Cancelled by ${user}.`,
      });
    } catch (error) {
      if (error instanceof StoreCallTimeoutError || stateAdapter.isTransientError(error)) throw error;
      throw new UnrecoverableJobError(error instanceof LeaseholdError ? error.message : unknownError);
    }
  };

  const startWorker = async () => {
    const own = await open();
    return own
      .createWorker()
      .implementJobType({
        typeName: actionTypeName,
        process: async ({ job, signal, reportProgress }) => {
          const { input } = job;
          const { pace } = input;
          const stop = new AbortController();
          const interrupted = AbortSignal.any([signal, stop.signal, closing.signal]);
          const limit = Math.min(portionSize, pace ?? portionSize);
          let counts = countsOf(job);
          const work = async (): Promise<Counts> => {
            while (!interrupted.aborted) {
              const portion = await doPortion(input, limit, counts.cursor);
              counts = add(counts, portion);
              if (portion.cursor === null) return counts;
              await reportProgress(counts);
              if (pace !== null)
                await sleep((limit / pace) * 1_000, undefined, { signal: interrupted }).catch(
                  () => undefined,
                );
            }
            signal.throwIfAborted();
            if (!stop.signal.aborted) return rescheduleJob({ afterMs: 0 });
            await own.jobs.cancel({ ids: [job.id], reason: stop.signal.reason as string });
            return counts;
          };
          const end = work();
          running.set(job.id, { stop, end });
          return end.finally(() => running.delete(job.id));
        },
      })
      .start();
  };

  let started: Promise<unknown> | undefined;
  /** Starts the worker when the first action needs it: a dashboard without actions polls nothing. */
  const ensureWorker = async (): Promise<void> => {
    if (readOnly || closing.signal.aborted) return;
    started ??= startWorker();
    try {
      await started;
    } catch (error) {
      started = undefined;
      throw error;
    }
  };

  const findActions = async (options: object) => (await open()).jobs.list({ queue: actionQueue, ...options });

  /** An action whose dashboard has crashed is continued here. */
  const continueOpenActions = async (): Promise<void> => {
    const { jobs } = await findActions({ status: ["pending", "running"], limit: 1 });
    if (jobs.length > 0) await ensureWorker();
  };
  // A store that cannot be reached yet is no reason to fail. Reading an open action starts the worker, too.
  if (!readOnly) continueOpenActions().catch(() => undefined);

  const requireJob = async (id: string, kind?: ActionKind) => {
    const job = await (await open()).jobs.get({ id });
    const isAction = job?.typeName === actionTypeName && (kind === undefined || job.input.kind === kind);
    if (!isAction) throw notFound("such action");
    return job;
  };

  const isOpen = ({ status }: AnyJob): boolean => status !== "completed" && status !== "failed";

  const underWay = (): HttpError =>
    new HttpError(409, "running", "This action is under way, perhaps in another process.", {
      hint: "Stop it first, or wait until it is done.",
    });

  /** A job that is started and completed in one transaction: workers never find it. */
  const writeEntry = async (ctx: object, input: ActionInput, output: Recorded): Promise<void> => {
    const own = await open();
    const { id } = await own.startJobSequence({ ...ctx, typeName: actionTypeName, input });
    await own.completeJobSequence({
      ...ctx,
      id,
      typeName: actionTypeName,
      complete: async ({ job, complete }) => {
        await complete(job, async () => output);
      },
    });
  };

  return {
    begin: async (user, kind, choice, { pace = null, expected = null }) => {
      const own = await open();
      const input = { user, kind, choice: toJson(choice), pace, expected, resumed: null };
      const { id } = await own.startJobSequence({ typeName: actionTypeName, input });
      await ensureWorker();
      return id;
    },
    resume: async (user, kind, id) => {
      const own = await open();
      const job = await requireJob(id, kind);
      if (job.status === "completed") throw new HttpError(409, "done", "This action is done.");
      await own.runInTransaction(async () => {
        const { changed } = await own.jobs.redrive({ ids: [id] });
        if (changed.length === 0) throw underWay();
        if (stateAdapter.edits !== undefined)
          await own.jobs.update({
            ids: [id],
            typeName: actionTypeName,
            input: { ...job.input, resumed: { by: user, from: countsOf(job) } },
          });
      });
      await ensureWorker();
    },
    stop: async (user, kind, id) => {
      const own = await open();
      if (!isOpen(await requireJob(id, kind))) return false;
      // If it runs here, it reports the portion under way first, so that its counts are exact.
      const here = running.get(id);
      const reason = `${stoppedBy}${user}`;
      here?.stop.abort(reason);
      await here?.end.catch(() => undefined);
      if (isOpen(await requireJob(id))) await own.jobs.cancel({ ids: [id], reason });
      return (await requireJob(id)).status === "failed";
    },
    record: async (user, kind, choice, change) => {
      type Result = Awaited<ReturnType<typeof change>>;
      const log = (ctx: object, result: Result | undefined, state: Recorded["state"]): Promise<void> => {
        const logged = toJson(typeof choice === "function" ? choice(result) : choice);
        const input = { user, kind, choice: logged, pace: null, expected: null, resumed: null };
        return writeEntry(ctx, input, { state });
      };
      try {
        return await leasehold.runInTransaction(async (ctx) => {
          const result = await change();
          await log(ctx, result, "done");
          return result;
        });
      } catch (error) {
        const own = await open();
        const written = own.runInTransaction((ctx) => log(ctx, undefined, "failed"));
        await written.catch(() => undefined);
        throw error;
      }
    },
    get: async (id) => {
      const job = await requireJob(id);
      if (isOpen(job)) await ensureWorker();
      return viewAction(job);
    },
    list: async (limit, cursor) => {
      const { jobs, cursor: next } = await findActions({ limit, cursor });
      if (jobs.some(isOpen)) await ensureWorker();
      return { actions: jobs.map(viewAction), cursor: next };
    },
    close: async () => {
      closing.abort();
      await (await opened?.catch(() => undefined))?.close();
    },
  };
};
