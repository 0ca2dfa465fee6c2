import { momentFields } from "../routes/job-filter.ts";
import type { Choice } from "./planned-action.ts";

/** What is written of a choice when an action begins, to go on with it later. */
export interface StoredPlan {
  readonly ids?: readonly string[];
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly before: string;
  readonly schedule?: { readonly at: string } | { readonly afterMs: number };
  readonly pace: number | null;
}

/** Dates become text when it is written. */
export const storePlan = (choice: Choice, pace: number | undefined): StoredPlan =>
  ({ ...choice, pace: pace ?? null }) as unknown as StoredPlan;

export const restoreChoice = ({ ids, filter, before, schedule }: StoredPlan): Choice => ({
  ids,
  filter:
    filter &&
    (Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [
        name,
        Object.hasOwn(momentFields, name) ? new Date(String(value)) : value,
      ]),
    ) as unknown as Choice["filter"]),
  before: new Date(before),
  schedule: schedule && ("at" in schedule ? { at: new Date(schedule.at) } : schedule),
});
