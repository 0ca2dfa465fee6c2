import type { ActionKind, LoggedAction, Right, Status } from "../answers.ts";

export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** When jobs are to run. */
export type Schedule = { readonly at: string } | { readonly afterMs: number };

/** Which jobs a plan is about. */
export type Choice = { readonly ids: readonly string[] } | { readonly filter: Filter };

interface KindWords {
  readonly needs: Right;
  /** On the button. */
  readonly name: string;
  /** "1,275 of 1,284 jobs ..." */
  readonly would: string;
  readonly done: string;
  /** The states whose jobs it changes. */
  readonly of: readonly Status[];
  readonly isDangerous: boolean;
}

export const kinds: Readonly<Record<ActionKind, KindWords>> = {
  redrive: {
    needs: "redrive",
    name: "Redrive",
    would: "would run again",
    done: "run again",
    of: ["failed"],
    isDangerous: false,
  },
  run_now: {
    needs: "update",
    name: "Run now",
    would: "would be due at once",
    done: "are due now",
    of: ["pending", "blocked"],
    isDangerous: false,
  },
  reschedule: {
    needs: "update",
    name: "Reschedule",
    would: "would run at another time",
    done: "have a new time",
    of: ["pending", "blocked"],
    isDangerous: false,
  },
  cancel: {
    needs: "cancel",
    name: "Cancel",
    would: "would be cancelled",
    done: "were cancelled",
    of: ["blocked", "pending", "running"],
    isDangerous: true,
  },
  delete: {
    needs: "delete",
    name: "Delete",
    would: "would be deleted, with everything in them",
    done: "were deleted",
    of: ["completed", "failed"],
    isDangerous: true,
  },
};

export const kindNames = Object.keys(kinds) as ActionKind[];

/**
 * A plan for a filter is about all states that its action can change, whatever states the list shows. So it is offered only
 * where the list shows all of those: nobody is to change what they did not see.
 */
export const fitsFilter = (kind: ActionKind, shown: readonly string[]): boolean =>
  shown.length === 0 || kinds[kind].of.every((status) => shown.includes(status));

const skipped: Readonly<Record<string, string>> = {
  not_found: "does not exist any more",
  not_failed: "has not failed",
  not_waiting: "is not waiting",
  blocker_failed: "waits for one that has failed: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "a newer one with the same key is not finished",
  tree_unfinished: "its tree is not finished",
};

export const formatSkip = (reason: string): string =>
  skipped[reason] ?? (reason.startsWith("is_") ? `is ${reason.slice(3)}` : reason.replaceAll("_", " "));

const stateWords = {
  running: "under way",
  stopping: "stopping",
  interrupted: "interrupted",
  done: "done",
  stopped: "stopped",
  failed: "failed",
} as const;

/** How an action stands, and what can be done about it. One whose process died is interrupted: it can be resumed. */
export const standOf = ({ result, isUnderWay }: Pick<LoggedAction, "result" | "isUnderWay">) => {
  const written = result?.state ?? "running";
  const isOpen = written === "running" || written === "stopping";
  const state = isOpen && !isUnderWay ? "interrupted" : written;
  return {
    state,
    words: stateWords[state],
    isOver: !isOpen || !isUnderWay,
    canStop: state === "running",
    canResume: state === "interrupted" || state === "stopped" || state === "failed",
  };
};
