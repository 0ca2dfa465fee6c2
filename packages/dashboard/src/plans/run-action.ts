import { setTimeout as sleep } from "node:timers/promises";
import { LeaseholdError } from "leasehold";
import type { Services } from "../server/services.ts";
import type { Choice } from "./planned-action.ts";
import { type ActionKind, plannedActions } from "./planned-actions.ts";

/** How far an action has come. It is written to the log after each portion, so that another process can go on from there. */
export interface ActionProgress {
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly changed: number;
  readonly revived: number;
  readonly skipped: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly cursor: string | null;
  readonly error: string | null;
}

export interface RunningAction {
  readonly id: string;
  readonly user: string;
  readonly kind: ActionKind;
  readonly choice: Choice;
  /** Jobs in a second; undefined for as fast as it goes. */
  readonly pace: number | undefined;
}

const portionSize = 500;

export const notBegun: ActionProgress = {
  state: "running",
  changed: 0,
  revived: 0,
  skipped: 0,
  reasons: {},
  cursor: null,
  error: null,
};

/** Does an action portion by portion, each a transaction of its own, until it is done or stopped. Never rejects. */
export const runAction = async (
  { leasehold, actions }: Services,
  { id, user, kind, choice, pace }: RunningAction,
  from: ActionProgress,
  signal: AbortSignal,
): Promise<ActionProgress> => {
  let progress: ActionProgress = { ...from, state: "running", error: null };
  const write = (): Promise<void> => actions.update(id, user, kind, progress);
  const limit = Math.min(portionSize, pace ?? portionSize);
  try {
    do {
      const { changed, skipped, cursor } = await plannedActions[kind].portion(leasehold, {
        choice,
        limit,
        cursor: progress.cursor,
        dryRun: false,
        reason: `Cancelled by ${user}.`,
      });
      const reasons = { ...progress.reasons };
      for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1;
      progress = {
        ...progress,
        state: cursor === null ? "done" : "running",
        changed: progress.changed + changed.length,
        revived: progress.revived + changed.reduce((sum, { revived }) => sum + revived, 0),
        skipped: progress.skipped + skipped.length,
        reasons,
        cursor,
      };
      await write();
      if (cursor !== null && pace !== undefined) await sleep((limit / pace) * 1_000, undefined, { signal });
    } while (progress.cursor !== null && !signal.aborted);
    if (progress.state === "running") progress = { ...progress, state: "stopped" };
  } catch (error) {
    // Only typed errors are written for people.
    const message = error instanceof LeaseholdError ? error.message : "The store could not do it.";
    progress = signal.aborted
      ? { ...progress, state: "stopped" }
      : { ...progress, state: "failed", error: message };
  }
  // What it did is done, whether that can be written down or not.
  await write().catch(() => undefined);
  return progress;
};
