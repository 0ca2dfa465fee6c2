import { randomUUID } from "node:crypto";
import type { ActionLog, ActionEntry } from "../server/action-log.ts";
import { HttpError, notFound } from "../server/http-error.ts";
import type { AnyLeasehold } from "../server/services.ts";
import { type ActionProgress, isUnderWay, notBegun } from "./action-progress.ts";
import type { Choice } from "./planned-action.ts";
import type { ActionKind } from "./planned-actions.ts";
import { runAction, type RunningAction } from "./run-action.ts";
import { restoreChoice, type StoredPlan, storePlan } from "./stored-plan.ts";

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
