import { describe } from "../base/errors.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { runAtomically } from "../engine/operation.ts";
import {
  clockToleranceMs,
  type NewRecurringJob,
  type StateRecurringJob,
} from "../store/contract/recurring.ts";
import { RecurringJobNotFoundError, VersionMismatchError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import {
  addTicks,
  emptyTickHistory,
  runTimeOf,
  readTickHistory,
  type TickHistory,
  writeTickHistory,
} from "./decide-tick.ts";
import { type RecurringDefinition, timetableOf, zoneDataOf } from "./definition.ts";
import { noteSetBack, type Timetable, withSetBack } from "./timetable.ts";

/** A change is announced like a new job, under a name that is no job type. Transports need no kind for it. */
export const recurringJobsChanged = "leasehold:recurring-jobs";

// A name is heard by as many workers as it is sent for. One would do, but might be about to stop.
const listeners = 5;

/** Lets workers look at once instead of within a minute. */
export const wakeTickers = (afterCommit: AfterCommit): void => {
  for (let count = 0; count < listeners; count += 1) afterCommit.notify("jobScheduled", recurringJobsChanged);
};

/** What a change needs to know. The rows stay locked until the change has been stored. */
export interface ChangeContext {
  readonly ctx: object;
  readonly rows: readonly (StateRecurringJob | undefined)[];
  /** By the store's clock. */
  readonly now: number;
}

type ChangedRow = NewRecurringJob | StateRecurringJob;

/** Locks recurring jobs, lets `change` compute their new rows, and stores these. A row that is returned as it was stays. */
export const changeRecurringJobs = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  ids: readonly string[],
  change: (found: ChangeContext) => readonly ChangedRow[] | Promise<readonly ChangedRow[]>,
): Promise<StateRecurringJob[]> => {
  const recurring = requirePart(engine.store, "recurring", operation);
  return runAtomically(engine, operation, ctx, async (inner, afterCommit) => {
    const rows = await recurring.lockRecurring({ ctx: inner, ids });
    const now = await engine.store.getTime({ ctx: inner });
    const result = await change({ ctx: inner, rows, now });
    const jobs = result.filter((job, index) => job !== rows[index]);
    if (jobs.length === 0) return rows as StateRecurringJob[];
    const stored = await recurring.putRecurring({ ctx: inner, jobs });
    wakeTickers(afterCommit);
    let next = 0;
    return rows.map((row, index) => (result[index] === row ? row! : stored[next++]!));
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

type Times = Pick<
  NewRecurringJob,
  "nextNominalAt" | "runsAt" | "timeZoneVersion" | "computedAt" | "tickHistory"
>;

/** A timetable and a history that take account of a clock that was set back. */
export interface CurrentTimes {
  readonly timetable: Timetable;
  readonly tickHistory: TickHistory;
  readonly wasSetBack: boolean;
}

export const currentTimesOf = (
  { computedAt, nextNominalAt, tickHistory: text }: StateRecurringJob,
  definition: RecurringDefinition,
  now: number,
): CurrentTimes => {
  const timetable = timetableOf(definition);
  const before = readTickHistory(text);
  const wasSetBack = computedAt > now + clockToleranceMs && nextNominalAt !== null && nextNominalAt > now;
  const setBack = wasSetBack ? noteSetBack(timetable, nextNominalAt, before.setBack, now) : before.setBack;
  return {
    timetable: withSetBack(timetable, setBack),
    tickHistory: wasSetBack ? { ...before, setBack } : before,
    wasSetBack,
  };
};

/** Where it stands when its times are counted from now on. A run that waits will not come any more. */
export const timesFrom = (
  id: string,
  definition: RecurringDefinition,
  now: number,
  row: StateRecurringJob | undefined,
): Times => {
  const { timetable, tickHistory, wasSetBack } =
    row === undefined
      ? { timetable: timetableOf(definition), tickHistory: emptyTickHistory, wasSetBack: false }
      : currentTimesOf(row, definition, now);
  // A clock that is behind by less than the tolerance must not bring a time twice.
  const computedAt = wasSetBack ? now : Math.max(now, row?.computedAt ?? now);
  const nextNominalAt = timetable.next(computedAt);
  const runsAt =
    nextNominalAt === null
      ? null
      : runTimeOf({ id, timetable, policies: definition.policies }, nextNominalAt);
  return {
    nextNominalAt,
    runsAt,
    timeZoneVersion: zoneDataOf(definition),
    computedAt,
    tickHistory: writeTickHistory(withoutWaiting(tickHistory, now)),
  };
};

const withoutWaiting = (tickHistory: TickHistory, now: number): TickHistory => {
  if (tickHistory.waiting === null) return tickHistory;
  const { nominalAt, triggered } = tickHistory.waiting;
  const dropped = { result: "dropped", nominalAt, at: now, count: 1, sequenceId: null, triggered } as const;
  return { ...addTicks(tickHistory, [dropped]), waiting: null };
};
