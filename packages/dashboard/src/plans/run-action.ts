import { setTimeout as sleep } from "node:timers/promises";
import { LeaseholdError } from "leasehold";
import type { ActionLog } from "../server/action-log.ts";
import type { AnyLeasehold } from "../server/services.ts";
import { type ActionProgress, createProgressLog } from "./action-progress.ts";
import type { Choice, Portion } from "./planned-action.ts";
import { type ActionKind, plannedActions } from "./planned-actions.ts";

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
export const runAction = async (
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
