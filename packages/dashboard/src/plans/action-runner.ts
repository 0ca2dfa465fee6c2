import { HttpError, notFound } from "../server/http-error.ts";
import type { Services } from "../server/services.ts";
import type { Choice } from "./planned-action.ts";
import type { ActionKind } from "./planned-actions.ts";
import { type ActionProgress, notBegun, runAction } from "./run-action.ts";

/** What is written of a choice when an action begins, to go on with it later. */
interface StoredPlan {
  readonly ids?: readonly string[];
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly before: string;
  readonly pace: number | null;
}

const dateNames = new Set(["createdFrom", "createdBefore", "finishedFrom", "finishedBefore"]);

const restoreChoice = ({ ids, filter, before }: StoredPlan): Choice => ({
  ids,
  filter:
    filter &&
    (Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [
        name,
        dateNames.has(name) ? new Date(String(value)) : value,
      ]),
    ) as unknown as Choice["filter"]),
  before: new Date(before),
});

export interface ActionRunner {
  /** Returns as soon as the action is in the log; it goes on by itself. */
  begin(services: Services, user: string, kind: ActionKind, choice: Choice, pace?: number): Promise<string>;
  /** Goes on with an action that was stopped, failed, or whose process died. */
  resume(services: Services, user: string, kind: ActionKind, id: string): Promise<void>;
  stop(id: string): boolean;
}

export const createActionRunner = (): ActionRunner => {
  const running = new Map<string, AbortController>();

  const run = (services: Services, action: Parameters<typeof runAction>[1], from: ActionProgress): void => {
    const controller = new AbortController();
    running.set(action.id, controller);
    void runAction(services, action, from, controller.signal).finally(() => running.delete(action.id));
  };

  return {
    begin: async (services, user, kind, choice, pace) => {
      const plan: StoredPlan = {
        ...(choice as object),
        before: choice.before.toISOString(),
        pace: pace ?? null,
      };
      const id = await services.actions.begin(user, kind, plan);
      run(services, { id, user, kind, choice, pace }, notBegun);
      return id;
    },
    resume: async (services, user, kind, id) => {
      const action = await services.actions.get(id);
      if (action === undefined || action.kind !== kind) throw notFound("such action");
      const progress = (action.result ?? notBegun) as ActionProgress;
      if (running.has(id)) throw new HttpError(409, "running", "This action is under way.");
      if (progress.state === "done") throw new HttpError(409, "done", "This action is done.");
      const plan = action.plan as StoredPlan;
      run(services, { id, user, kind, choice: restoreChoice(plan), pace: plan.pace ?? undefined }, progress);
    },
    stop: (id) => {
      const controller = running.get(id);
      controller?.abort();
      return controller !== undefined;
    },
  };
};
