import { LeaseholdError } from "leasehold";
import type { AnyStateAdapter, History, StateAction } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { HttpError, notFound } from "../http/errors.ts";
import type { AnyLeasehold } from "../http/leasehold.ts";
import {
  type ActionKind,
  type Choice,
  plannedActions,
  type Portion,
  restoreChoice,
  type StoredPlan,
  storePlan,
} from "./action.ts";

/** An action as it is in the log. */
export interface ActionEntry {
  readonly id: string;
  readonly user: string;
  readonly kind: string;
  readonly plan: unknown;
  readonly result: unknown;
  readonly startedAt: string;
  readonly changedAt: string | null;
}

export interface ActionLog {
  /** Written before the action begins, so that one that never came back is seen, too. */
  begin(user: string, kind: string, plan: object): Promise<string>;
  /** Replaces what is known of its result. */
  update(id: string, user: string, kind: string, result: object): Promise<void>;
  /** The same, but only if its result still is what was read or written before; whether it was. */
  replace(id: string, from: unknown, to: object): Promise<boolean>;
  get(id: string): Promise<ActionEntry | undefined>;
  list(limit: number, after: string | undefined): Promise<{ actions: ActionEntry[]; cursor: string | null }>;
}

type Store = Pick<History<object>, "recordAction" | "replaceActionResult" | "getActions" | "listActions">;

const mostKept = 200;

/** For stores without a history: the latest actions of this process. */
const createMemoryLog = (): Store => {
  const kept = new Map<string, StateAction>();
  return {
    recordAction: async ({ action }) => {
      const known = kept.get(action.id);
      const now = Date.now();
      kept.set(action.id, {
        ...(known ?? { ...action, startedAt: now }),
        result: action.result,
        changedAt: action.result === null ? null : now,
      });
      if (kept.size > mostKept) kept.delete(kept.keys().next().value!);
    },
    replaceActionResult: async ({ id, from, to }) => {
      const known = kept.get(id);
      if (known === undefined || known.result !== from) return false;
      kept.set(id, { ...known, result: to, changedAt: Date.now() });
      return true;
    },
    getActions: async ({ ids }) => ids.map((id) => kept.get(id)),
    listActions: async ({ limit, after }) => {
      const all = [...kept.values()].reverse();
      const from = after === null ? 0 : all.findIndex(({ id }) => id === after.id) + 1;
      return all.slice(from, from + limit);
    },
  };
};

const read = (text: string | null): unknown => {
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
};

const toLogged = ({ id, actor, kind, plan, result, startedAt, changedAt }: StateAction): ActionEntry => ({
  id,
  user: actor,
  kind,
  plan: read(plan),
  result: read(result),
  startedAt: new Date(startedAt).toISOString(),
  changedAt: changedAt === null ? null : new Date(changedAt).toISOString(),
});

const toCursor = ({ startedAt, id }: StateAction): string => `${startedAt}.${id}`;

const fromCursor = (cursor: string | undefined): { startedAt: number; id: string } | null => {
  const [, startedAt, id] = /^(\d{1,16})\.(.+)$/.exec(cursor ?? "") ?? [];
  return startedAt === undefined || id === undefined ? null : { startedAt: Number(startedAt), id };
};

/** Who did what to which jobs. */
export const createActionLog = ({ history }: AnyStateAdapter): ActionLog => {
  const store: Store = history ?? createMemoryLog();
  return {
    begin: async (actor, kind, plan) => {
      const id = randomUUID();
      await store.recordAction({ action: { id, actor, kind, plan: JSON.stringify(plan), result: null } });
      return id;
    },
    update: (id, actor, kind, result) =>
      store.recordAction({ action: { id, actor, kind, plan: "null", result: JSON.stringify(result) } }),
    // Whatever was made by JSON.stringify is the same text after reading and writing it again.
    replace: (id, from, to) =>
      store.replaceActionResult({
        id,
        from: from === null ? null : JSON.stringify(from),
        to: JSON.stringify(to),
      }),
    get: async (id) => {
      const [action] = await store.getActions({ ids: [id] });
      return action && toLogged(action);
    },
    list: async (limit, after) => {
      const actions = await store.listActions({ limit, after: fromCursor(after) });
      const last = actions.at(-1);
      const cursor = last === undefined || actions.length < limit ? null : toCursor(last);
      return { actions: actions.map(toLogged), cursor };
    },
  };
};

/** How far an action has come. It is written to the log after each portion, so that another process can go on from there. */
export interface ActionProgress {
  readonly state: "running" | "stopping" | "done" | "stopped" | "failed";
  readonly changed: number;
  readonly revived: number;
  readonly skipped: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly cursor: string | null;
  readonly error: string | null;
  /** Who began it, or went on with it. */
  readonly by: string;
  /** Which run of the action this is: of the process that has it, and nobody else. */
  readonly run: string;
  /** Grows while its process lives, so that a result that is written again is not the one before. */
  readonly beat: number;
}

const notBegun: ActionProgress = {
  state: "running",
  changed: 0,
  revived: 0,
  skipped: 0,
  reasons: {},
  cursor: null,
  error: null,
  by: "",
  run: "",
  beat: 0,
};

/** How often a process says in the log that it still has an action. */
const heartbeatMs = 5_000;

/** Whoever has said nothing for so long is taken for dead, and others may go on with its action. */
const mostSilentMs = 30_000;

/** Whether a process may still be at work on it. */
export const isUnderWay = ({ result, startedAt, changedAt }: ActionEntry, now: number): boolean => {
  const state = (result as ActionProgress | null)?.state ?? "running";
  const isOver = state !== "running" && state !== "stopping";
  return !isOver && now - Date.parse(changedAt ?? startedAt) < mostSilentMs;
};

export interface ProgressLog {
  readonly progress: ActionProgress;
  write(next: ActionProgress): Promise<void>;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

/**
 * Writes how far an action has come, one writing after the other. Each replaces the one before, and nothing else: if there is
 * something else, another process has asked to stop, or has taken the action over. `stop` is aborted then.
 */
const createProgressLog = (
  actions: ActionLog,
  id: string,
  claimed: ActionProgress,
  stop: AbortController,
): ProgressLog => {
  let progress = claimed;
  let written = claimed;
  let isOurs = true;
  let last: Promise<void> = Promise.resolve();

  const replace = async (): Promise<void> => {
    if (!isOurs) return;
    const next = { ...progress, beat: written.beat + 1 };
    if (await actions.replace(id, written, next)) {
      written = next;
      return;
    }
    stop.abort();
    const found = (await actions.get(id))?.result as ActionProgress | null | undefined;
    isOurs = found?.run === claimed.run;
    if (!isOurs || found == null) return;
    // Only a request to stop changes what belongs to a run, and it changes nothing but the state.
    written = found;
    await replace();
  };

  const write = (): Promise<void> => {
    last = last.catch(() => undefined).then(replace);
    return last;
  };

  const heartbeat = setInterval(() => void write().catch(() => undefined), heartbeatMs);
  heartbeat.unref();
  return {
    get progress() {
      return progress;
    },
    write: (next) => {
      progress = next;
      return write();
    },
    close: async () => {
      clearInterval(heartbeat);
      await last.catch(() => undefined);
    },
  };
};

export interface RunningAction {
  readonly id: string;
  readonly user: string;
  readonly kind: ActionKind;
  readonly choice: Choice;
  /** Jobs in a second; undefined for as fast as it goes. */
  readonly pace: number | undefined;
}

const portionSize = 500;

const add = (progress: ActionProgress, { changed, skipped, cursor }: Portion): ActionProgress => {
  const reasons = { ...progress.reasons };
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    ...progress,
    state: cursor === null ? "done" : "running",
    changed: progress.changed + changed.length,
    revived: progress.revived + changed.reduce((sum, { revived }) => sum + revived, 0),
    skipped: progress.skipped + skipped.length,
    reasons,
    cursor,
  };
};

/**
 * Does an action portion by portion, each a transaction of its own, until it is done or stopped, or another process has taken
 * it over. `claimed` is what this process has written to the log to have it. Never rejects.
 */
const runAction = async (
  { leasehold, actions }: { readonly leasehold: AnyLeasehold; readonly actions: ActionLog },
  { id, user, kind, choice, pace }: RunningAction,
  claimed: ActionProgress,
  stop: AbortController,
): Promise<void> => {
  const log = createProgressLog(actions, id, claimed, stop);
  const { signal } = stop;
  const limit = Math.min(portionSize, pace ?? portionSize);
  try {
    while (log.progress.state === "running" && !signal.aborted) {
      const { cursor } = log.progress;
      const call = { choice, limit, cursor, dryRun: false, reason: `Cancelled by ${user}.` };
      const portion = await plannedActions[kind].portion(leasehold, call);
      await log.write(add(log.progress, portion));
      if (portion.cursor !== null && pace !== undefined)
        await sleep((limit / pace) * 1_000, undefined, { signal });
    }
    if (log.progress.state === "running") await log.write({ ...log.progress, state: "stopped" });
  } catch (error) {
    // Only typed errors are written for people.
    const message = error instanceof LeaseholdError ? error.message : "The store could not do it.";
    const end = signal.aborted
      ? ({ state: "stopped" } as const)
      : ({ state: "failed", error: message } as const);
    // What it did is done, whether that can be written down or not.
    await log.write({ ...log.progress, ...end }).catch(() => undefined);
  } finally {
    await log.close();
  }
};

export interface ActionRunnerOptions {
  readonly leasehold: AnyLeasehold;
  readonly actions: ActionLog;
  /** The store's clock, in milliseconds. */
  now(): Promise<number>;
}

export interface ActionRunner {
  /** Returns as soon as the action is in the log; it goes on by itself. */
  begin(user: string, kind: ActionKind, choice: Choice, pace?: number): Promise<string>;
  /** Goes on with an action that was stopped, failed, or whose process died. */
  resume(user: string, kind: ActionKind, id: string): Promise<void>;
  /** Asks for an end after the portion under way, in whichever process; false if the action is not under way. */
  stop(kind: ActionKind, id: string): Promise<boolean>;
  /** Stops all actions of this process after the portion under way, and waits for it. Idempotent. */
  close(): Promise<void>;
}

const progressOf = ({ result }: ActionEntry): ActionProgress | null => result as ActionProgress | null;

const underWay = (): HttpError =>
  new HttpError(409, "running", "This action is under way, perhaps in another process.", {
    hint: "Stop it first, or wait until it is done.",
  });

/** The actions of one dashboard. Several dashboards on one store share the log, and an action has one of them at a time. */
export const createActionRunner = ({ leasehold, actions, now }: ActionRunnerOptions): ActionRunner => {
  const running = new Map<string, { readonly stop: AbortController; readonly end: Promise<void> }>();
  const starting = new Set<Promise<unknown>>();
  let isClosed = false;

  /** Writes to the log that this process has the action now, where nobody else has done so since it was read. */
  const claim = async (action: RunningAction, found: ActionProgress | null): Promise<void> => {
    const { beat, ...from } = found ?? notBegun;
    const claimed = {
      ...from,
      state: "running",
      error: null,
      by: action.user,
      run: randomUUID(),
      beat: beat + 1,
    } as const;
    if (isClosed) throw new HttpError(503, "closed", "The dashboard has been closed.");
    if (!(await actions.replace(action.id, found, claimed))) throw underWay();
    const stop = new AbortController();
    if (isClosed) stop.abort();
    const end = runAction({ leasehold, actions }, action, claimed, stop).finally(() => {
      if (running.get(action.id)?.stop === stop) running.delete(action.id);
    });
    running.set(action.id, { stop, end });
  };

  const requireAction = async (kind: ActionKind, id: string): Promise<ActionEntry> => {
    const action = await actions.get(id);
    if (action === undefined || action.kind !== kind) throw notFound("such action");
    return action;
  };

  const begin: ActionRunner["begin"] = async (user, kind, choice, pace) => {
    const id = await actions.begin(user, kind, storePlan(choice, pace));
    await claim({ id, user, kind, choice, pace }, null);
    return id;
  };

  const resume: ActionRunner["resume"] = async (user, kind, id) => {
    const action = await requireAction(kind, id);
    const progress = progressOf(action);
    if (progress?.state === "done") throw new HttpError(409, "done", "This action is done.");
    if (isUnderWay(action, await now())) throw underWay();
    const plan = action.plan as StoredPlan;
    await claim({ id, user, kind, choice: restoreChoice(plan), pace: plan.pace ?? undefined }, progress);
  };

  /** Closing waits for what is about to begin, too. */
  const track = <T>(work: Promise<T>): Promise<T> => {
    starting.add(work);
    return work.finally(() => starting.delete(work));
  };

  return {
    begin: (...args) => track(begin(...args)),
    resume: (...args) => track(resume(...args)),
    stop: async (kind, id) => {
      const here = running.get(id);
      if (here !== undefined) {
        here.stop.abort();
        return true;
      }
      const action = await requireAction(kind, id);
      const progress = progressOf(action);
      if (progress?.state !== "running") return false;
      const state = isUnderWay(action, await now()) ? "stopping" : "stopped";
      return actions.replace(id, progress, { ...progress, state });
    },
    close: async () => {
      isClosed = true;
      await Promise.allSettled(starting);
      const ends = [...running.values()].map(({ stop, end }) => {
        stop.abort();
        return end;
      });
      await Promise.all(ends);
    },
  };
};
