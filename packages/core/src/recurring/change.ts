import { describe } from "../base/errors.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { runAtomically } from "../engine/operation.ts";
import type { NewRecurringJob, StateRecurringJob } from "../store/contract/recurring.ts";
import { RecurringJobNotFoundError, VersionMismatchError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import { addTicks, runTimeOf, readTickHistory, writeTickHistory } from "./decide-tick.ts";
import { type RecurringDefinition, timetableOf, zoneDataOf } from "./definition.ts";

/** A change is announced like a new job, under a name that is no job type. Transports need no kind for it. */
export const recurringJobsChanged = "leasehold:recurring-jobs";

// A name is heard by as many workers as it is sent for. One would do, but might be about to stop.
const listeners = 5;

/** Lets workers look at once instead of within a minute. */
export const wakeTickers = (afterCommit: AfterCommit): void => {
  for (let count = 0; count < listeners; count += 1) afterCommit.notify("jobScheduled", recurringJobsChanged);
};

/** What a change needs to know. The row stays locked until the change has been stored. */
export interface ChangeContext {
  readonly row: StateRecurringJob | undefined;
  /** By the store's clock. */
  readonly now: number;
}

/** Locks a recurring job, lets `change` say what it becomes, and stores that. Returning the row itself changes nothing. */
export const changeRecurringJob = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  id: string,
  change: (found: ChangeContext) => NewRecurringJob | StateRecurringJob,
): Promise<StateRecurringJob> => {
  const recurring = requirePart(engine.store, "recurring", operation);
  return runAtomically(engine, operation, ctx, async (inner, afterCommit) => {
    const row = await recurring.lockRecurring({ ctx: inner, id });
    const now = await engine.store.getTime({ ctx: inner });
    const changed = change({ row, now });
    if (changed === row) return row;
    const stored = await recurring.putRecurring({ ctx: inner, job: changed });
    wakeTickers(afterCommit);
    return stored;
  });
};

export const requireFound = (id: string, row: StateRecurringJob | undefined): StateRecurringJob => {
  if (row === undefined) throw new RecurringJobNotFoundError(id);
  return row;
};

export const requireVersion = (
  id: string,
  row: StateRecurringJob | undefined,
  expectedVersion: number | undefined,
): void => {
  const version = row?.version ?? 0;
  if (expectedVersion !== undefined && expectedVersion !== version)
    throw new VersionMismatchError(`recurring job ${describe(id)}`, expectedVersion, version);
};

/** Where it stands when its times are counted from now on. */
export const timesFrom = (
  id: string,
  definition: RecurringDefinition,
  now: number,
): Pick<NewRecurringJob, "nextNominalAt" | "runsAt" | "timeZoneVersion"> => {
  const timetable = timetableOf(definition);
  const nextNominalAt = timetable.next(now);
  const runsAt =
    nextNominalAt === null
      ? null
      : runTimeOf({ id, timetable, policies: definition.policies }, nextNominalAt);
  return { nextNominalAt, runsAt, timeZoneVersion: zoneDataOf(definition) };
};

/** The record of a job whose waiting run, if it has one, will not come any more. */
export const withoutWaiting = ({ tickHistory: text }: StateRecurringJob, now: number): string => {
  const tickHistory = readTickHistory(text);
  if (tickHistory.waiting === null) return text;
  const { nominalAt, triggered } = tickHistory.waiting;
  const dropped = { result: "dropped", nominalAt, at: now, count: 1, sequenceId: null, triggered } as const;
  return writeTickHistory({ ...addTicks(tickHistory, [dropped]), waiting: null });
};
