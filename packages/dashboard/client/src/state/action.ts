import type { ActionKind, ActionProgress, Right, Status } from "../../../src/answers/jobs.ts";
import type { InputChange } from "./input-diff.ts";
import { jobFilters } from "./session.ts";
import { now } from "./settings.ts";

export type Filter = Readonly<Record<string, string | readonly string[]>>;

/** When jobs are to run. */
export type Schedule = { readonly at: string } | { readonly afterMs: number };

/** The jobs of a plan. */
export type Choice = (
  | { readonly ids: readonly string[] }
  | { readonly filter: Filter; readonly status?: readonly Status[] }
) & { readonly withChildren?: boolean; readonly changes?: readonly InputChange[] };

interface KindWords {
  readonly needs: Right;
  /** On the button. */
  readonly name: string;
  /** "1,275 of 1,284 jobs ..." */
  readonly would: string;
  /** "1 runs again", "3 run again". */
  readonly done: readonly [one: string, many: string];
  /** The states whose jobs it changes. */
  readonly of: readonly Status[];
  readonly isDangerous: boolean;
}

export const kinds: Readonly<Record<ActionKind, KindWords>> = {
  redrive: {
    needs: "redrive",
    name: "Redrive",
    would: "would run again",
    done: ["runs again", "run again"],
    of: ["failed"],
    isDangerous: false,
  },
  run_now: {
    needs: "update",
    name: "Run now",
    would: "would be due at once",
    done: ["is due now", "are due now"],
    of: ["pending", "blocked"],
    isDangerous: false,
  },
  reschedule: {
    needs: "update",
    name: "Reschedule",
    would: "would run at another time",
    done: ["has a new time", "have a new time"],
    of: ["pending", "blocked"],
    isDangerous: false,
  },
  edit: {
    needs: "update",
    name: "Change and redrive",
    would: "would run again with the change",
    done: ["runs again with the change", "run again with the change"],
    of: ["failed"],
    isDangerous: false,
  },
  cancel: {
    needs: "cancel",
    name: "Cancel",
    would: "would be cancelled",
    done: ["was cancelled", "were cancelled"],
    of: ["blocked", "pending", "running"],
    isDangerous: true,
  },
  delete: {
    needs: "delete",
    name: "Delete",
    would: "would be deleted, with everything in them",
    done: ["was deleted", "were deleted"],
    of: ["completed", "failed"],
    isDangerous: true,
  },
};

/** The actions that a list of jobs offers. A change of inputs begins with one job. */
export const kindNames = (Object.keys(kinds) as ActionKind[]).filter((kind) => kind !== "edit");

/** The statuses of a list that the action changes: a plan must not change jobs that the list does not show. */
export const statusesFor = (kind: ActionKind, shown: readonly string[]): readonly Status[] =>
  kinds[kind].of.filter((status) => shown.length === 0 || shown.includes(status));

/** The jobs of a filter in these statuses. All that the action can change need not be named. */
export const choiceOf = (kind: ActionKind, filter: Filter, status: readonly Status[]): Choice =>
  status.length === kinds[kind].of.length ? { filter } : { filter, status };

const skipped: Readonly<Record<string, string>> = {
  not_found: "does not exist any more",
  not_failed: "has not failed",
  not_waiting: "is not waiting",
  blocker_failed: "waits for one that has failed: redrive that one",
  blocker_cycle: "would wait for itself",
  duplicate_live: "a newer one with the same key is not finished",
  unfinished: "its tree is not finished",
  other_input: "has no place in its input for this change",
  invalid_input: "would get an input that does not fit its type",
};

export const formatSkip = (reason: string): string =>
  skipped[reason] ?? (reason.startsWith("is_") ? `is ${reason.slice(3)}` : reason.replaceAll("_", " "));

const stateWords = {
  running: "under way",
  done: "done",
  stopped: "stopped",
  failed: "failed",
} as const;

/** The state of an action, in words, and what the user can do. */
export const standOf = ({ state }: ActionProgress) => ({
  state,
  words: stateWords[state],
  isOver: state !== "running",
  canStop: state === "running",
  canResume: state === "stopped" || state === "failed",
});

export const ranges: readonly (readonly [string, string, number])[] = [
  ["15m", "last 15 minutes", 15 * 60_000],
  ["1h", "last hour", 3_600_000],
  ["24h", "last 24 hours", 24 * 3_600_000],
  ["7d", "last 7 days", 7 * 24 * 3_600_000],
];

/** The filter of an address, as the server takes it. A range is relative to now. */
export const filterOf = (query: URLSearchParams): Filter => {
  const filter: Record<string, string | readonly string[]> = {};
  for (const { name, many } of jobFilters()) {
    const values = query.getAll(name).filter((value) => value !== "");
    if (values.length > 0) filter[name] = many ? values : values[0]!;
  }
  const range = ranges.find(([key]) => key === query.get("since"));
  if (range !== undefined) filter["createdFrom"] = new Date(now.peek() - range[2]).toISOString();
  return filter;
};

/** The same for a plan, whose jobs are those of one point in time. */
export const planFilterOf = (query: URLSearchParams): Filter => {
  const time = new Date(now.peek()).toISOString();
  const scheduled: Readonly<Record<string, Filter>> = {
    now: { scheduledBefore: time },
    later: { scheduledFrom: time },
  };
  return { ...filterOf(query), ...scheduled[query.get("due") ?? ""] };
};
