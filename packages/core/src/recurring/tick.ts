import { type Backoff, delayOf } from "../base/backoff.ts";
import { requireId } from "../base/options.ts";
import { cut, parseStoredError, toStoredErrorText } from "../base/stored-error.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { operation, runAtomically } from "../engine/operation.ts";
import { cancelInTransaction } from "../jobs/cancel.ts";
import { announceCreation } from "../jobs/announce.ts";
import { writeJobRecurrence } from "../jobs/view.ts";
import type { NewJob } from "../store/contract/creation.ts";
import { isTerminal } from "../store/contract/job.ts";
import type { AdvancedRecurringJob, StateRecurringJob } from "../store/contract/recurring.ts";
import { immediately } from "../store/rules/transitions.ts";
import type { TriggeredRecurringJob } from "./api.ts";
import { currentTimesOf, requireFound, wakeTickers } from "./change.ts";
import {
  addTicks,
  decideRuns,
  decideTick,
  runTimeOf,
  readTickHistory,
  type RecordedTick,
  type StartFailure,
  type TickDecision,
  type TickInput,
  type TickHistory,
  writeTickHistory,
} from "./decide-tick.ts";
import {
  type JobTemplate,
  readDefinition,
  type RecurrencePolicies,
  type RecurringDefinition,
  timetableOf,
  zoneDataOf,
} from "./definition.ts";
import { type Timetable, withTime } from "./timetable.ts";

/** A recurring job whose row is locked, with what its texts say. */
export interface LockedRecurringJob {
  readonly row: StateRecurringJob;
  readonly definition: RecurringDefinition;
  readonly timetable: Timetable;
  readonly tickHistory: TickHistory;
  /** By how much the store's clock is behind the time at which the row was computed, if that is too much. */
  readonly setBackMs: number;
}

/** The last sequences of these, as far as they have not finished. Reads only what an `overlap` policy asks for. */
const findUnfinished = async (
  engine: Engine,
  ctx: object,
  locked: readonly LockedRecurringJob[],
): Promise<ReadonlySet<string>> => {
  const sequenceIds = locked.flatMap(({ row, definition }) =>
    row.lastSequenceId === null || definition.policies.overlap === "allow" ? [] : [row.lastSequenceId],
  );
  if (sequenceIds.length === 0) return new Set();
  const sequences = await engine.store.getSequences({ ctx, sequenceIds });
  return new Set(
    sequences.flatMap((sequence) =>
      sequence === undefined || isTerminal(sequence.current.status) ? [] : [sequence.first.id],
    ),
  );
};

export const createJob = (template: JobTemplate, id: string, recurrence: string | null): NewJob => ({
  ...template,
  id,
  sequenceId: id,
  sequenceTypeName: template.typeName,
  sequenceIndex: 0,
  sequenceCreatedAt: null,
  rootSequenceId: id,
  originId: null,
  traceContext: null,
  schedule: immediately,
  awaitsBlockers: false,
  deduplication: null,
  recurrence,
});

/**
 * Carries out what was decided, in the transaction that holds the locks: cancels what is replaced, creates the jobs, and moves
 * the recurring jobs on. Returns what became of each time, for each of them.
 */
const startRuns = async (
  engine: Engine,
  ctx: object,
  afterCommit: AfterCommit,
  now: number,
  decided: readonly (LockedRecurringJob & { readonly decision: TickDecision })[],
): Promise<RecordedTick[][]> => {
  const replaced = decided.flatMap(({ row, decision }) =>
    decision.cancelsLast && row.lastSequenceId !== null ? [row.lastSequenceId] : [],
  );
  if (replaced.length > 0) {
    await cancelInTransaction(
      engine,
      ctx,
      afterCommit,
      replaced,
      "A later run of its recurring job replaced it.",
    );
  }

  const jobs: NewJob[] = [];
  const ticks = decided.map(({ row, definition, decision }): RecordedTick[] => [
    ...decision.withoutJob,
    ...decision.runs.map(({ nominalAt, missed, triggered, result }): RecordedTick => {
      const id = engine.createId();
      jobs.push(createJob(definition.job, id, writeJobRecurrence(row.id, nominalAt, missed)));
      return { result, nominalAt, at: now, count: 1, sequenceId: id, triggered };
    }),
  ]);
  if (jobs.length > 0) {
    const created = await engine.store.createJobs({ ctx, jobs });
    for (const { job } of created) announceCreation(afterCommit, job);
  }

  await engine.store.recurring!.advanceRecurring({
    ctx,
    jobs: decided.map(({ row, tickHistory, decision }, index) => ({
      id: row.id,
      nextNominalAt: decision.nextNominalAt,
      runsAt: decision.runsAt,
      lastSequenceId:
        ticks[index]!.findLast(({ result }) => result === "started" || result === "caught_up")?.sequenceId ??
        row.lastSequenceId,
      tickHistory: writeTickHistory({
        ...addTicks(tickHistory, ticks[index]!),
        waiting: decision.waiting,
        failure: null,
      }),
      timeZoneVersion: row.timeZoneVersion,
      computedAt: row.computedAt,
    })),
  });
  announceTicks(afterCommit, decided, ticks);
  return ticks;
};

const announceTicks = (
  afterCommit: AfterCommit,
  decided: readonly LockedRecurringJob[],
  ticks: readonly (readonly RecordedTick[])[],
): void => {
  for (const [index, { row, definition, timetable }] of decided.entries()) {
    const { policies, job } = definition;
    for (const { result, nominalAt, at, count, sequenceId, triggered } of ticks[index]!)
      afterCommit.observe("recurringJobTicked", () => ({
        recurringJobId: row.id,
        typeName: job.typeName,
        queue: job.queue,
        result,
        nominalAt,
        count,
        sequenceId,
        triggered,
        latenessMs: triggered ? 0 : at - runTimeOf({ id: row.id, timetable, policies }, nominalAt),
      }));
  }
};

/** Enough to make the cost of the transaction small, few enough that it is short. */
export const tickBatchSize = 200;
// Of an error in the row of a recurring job.
const longestMessage = 500;
const retryDelay: Backoff = { firstMs: 1_000, longestMs: 60_000, jitter: "half" };

/** One tick. Returns how many recurring jobs it has read; `tickBatchSize` or more means that others may be due. */
export const tickRecurringJobs = async (engine: Engine, timeZoneVersion: string | null): Promise<number> => {
  try {
    return await tickBatch(engine, { limit: tickBatchSize, timeZoneVersion });
  } catch (error) {
    if (engine.store.isTransientError(error) || engine.store.isConflictRollback(error)) throw error;
    return tickOneByOne(engine, error);
  }
};

interface BatchOptions {
  readonly limit: number;
  /** Reads also recurring jobs whose times were computed with older zone data. */
  readonly timeZoneVersion: string | null;
  /** Gets what was locked, also of a batch that fails afterwards. */
  readonly onLocked?: (locked: readonly LockedRecurringJob[]) => void;
}

/**
 * Locks recurring jobs that are due, starts their jobs and moves them on, all in one transaction. A crash rolls all of
 * it back; a commit whose reply is lost has advanced them, so no run is started twice.
 */
const tickBatch = (engine: Engine, { limit, timeZoneVersion, onLocked }: BatchOptions): Promise<number> =>
  runAtomically(engine, "tickRecurringJobs", undefined, async (ctx, afterCommit) => {
    const { now, jobs } = await engine.store.recurring!.lockDueRecurring({ ctx, limit, timeZoneVersion });
    const locked: LockedRecurringJob[] = [];
    const putOff: AdvancedRecurringJob[] = [];
    for (const row of jobs) {
      try {
        locked.push(read(row, now));
      } catch (error) {
        // A newer version of Leasehold may have written it, and can read it.
        putOff.push(postpone(engine, afterCommit, { row, template: null, now, error }));
      }
    }
    if (putOff.length > 0) await engine.store.recurring!.advanceRecurring({ ctx, jobs: putOff });
    if (locked.length === 0) return jobs.length;
    onLocked?.(locked);

    const unfinished = await findUnfinished(engine, ctx, locked);
    const decided = locked.map((recurring) => {
      const { row, definition, timetable, tickHistory } = recurring;
      const { id, nextNominalAt, lastSequenceId } = row;
      const unfinishedSequenceId =
        lastSequenceId !== null && unfinished.has(lastSequenceId) ? lastSequenceId : null;
      const decision = decideTick({
        id,
        policies: definition.policies,
        timetable,
        nextNominalAt,
        waiting: tickHistory.waiting,
        unfinishedSequenceId,
        now,
      });
      return { ...recurring, decision };
    });
    await startRuns(engine, ctx, afterCommit, now, decided);
    announceSetBack(afterCommit, locked);
    return jobs.length;
  });

const announceSetBack = (afterCommit: AfterCommit, locked: readonly LockedRecurringJob[]): void => {
  const setBack = locked.map(({ setBackMs }) => setBackMs).filter((ms) => ms > 0);
  if (setBack.length === 0) return;
  const byMs = Math.max(...setBack);
  afterCommit.observe("storeClockSetBack", () => ({ recurringJobs: setBack.length, byMs }));
};

/** After a batch that the store has refused: each recurring job in a transaction of its own. Postpones what fails again. */
const tickOneByOne = async (engine: Engine, batchError: unknown): Promise<number> => {
  for (let count = 0; count < tickBatchSize; count += 1) {
    let failing: LockedRecurringJob | undefined;
    try {
      const onLocked: BatchOptions["onLocked"] = ([first]) => (failing = first);
      if ((await tickBatch(engine, { limit: 1, timeZoneVersion: null, onLocked })) === 0) break;
    } catch (error) {
      if (engine.store.isTransientError(error) || engine.store.isConflictRollback(error)) throw error;
      // The failure is not about one recurring job.
      if (failing === undefined) throw batchError;
      await postponeFailing(engine, failing, error);
    }
  }
  return tickBatchSize;
};

/** Its time stays, and is made up for when its job can be started. */
const postponeFailing = (engine: Engine, { row, definition }: LockedRecurringJob, error: unknown) =>
  runAtomically(engine, "tickRecurringJobs", undefined, async (ctx, afterCommit) => {
    const [found] = await engine.store.recurring!.lockRecurring({ ctx, ids: [row.id] });
    // Another worker has ticked it, or it was changed.
    if (found === undefined || found.version !== row.version || found.runsAt !== row.runsAt) return;
    const now = await engine.store.getTime({ ctx });
    const postponed = postpone(engine, afterCommit, { row, template: definition.job, now, error });
    await engine.store.recurring!.advanceRecurring({ ctx, jobs: [postponed] });
  });

interface Postponement {
  readonly row: StateRecurringJob;
  /** Null if it cannot be read. */
  readonly template: JobTemplate | null;
  readonly now: number;
  readonly error: unknown;
}

/** Puts off a recurring job whose job cannot be started, so that it does not hold up others, and reports it. */
const postpone = (
  engine: Engine,
  afterCommit: AfterCommit,
  { row, template, now, error }: Postponement,
): AdvancedRecurringJob => {
  const history = readHistorySafely(row.tickHistory);
  const before = history?.failure;
  const { name, message } = parseStoredError(toStoredErrorText(error))!;
  const failure: StartFailure = {
    since: before?.since ?? now,
    tries: (before?.tries ?? 0) + 1,
    error: { name, message: cut(message, longestMessage) },
  };
  const retryInMs = Math.ceil(delayOf(retryDelay, failure.tries, engine.runtime.random));
  afterCommit.observe("recurringJobFailed", () => ({
    recurringJobId: row.id,
    typeName: template?.typeName ?? null,
    queue: template?.queue ?? null,
    tries: failure.tries,
    retryInMs,
    error,
  }));
  const tickHistory = history === undefined ? row.tickHistory : writeTickHistory({ ...history, failure });
  return { ...row, runsAt: now + retryInMs, computedAt: Math.min(row.computedAt, now), tickHistory };
};

const readHistorySafely = (text: string): TickHistory | undefined => {
  try {
    return readTickHistory(text);
  } catch {
    return undefined;
  }
};

const read = (row: StateRecurringJob, now: number): LockedRecurringJob => {
  const definition = readDefinition(row.id, row.definition);
  const { timetable, tickHistory, wasSetBack } = currentTimesOf(row, definition, now);
  const computedAt = wasSetBack ? now : Math.max(row.computedAt, now);
  // A time that was due by the older data stays; one that is still to come is computed anew.
  const timeZoneVersion = zoneDataOf(definition);
  const isOutdated = row.timeZoneVersion !== timeZoneVersion && (row.nextNominalAt ?? 0) > now;
  const nextNominalAt = isOutdated || wasSetBack ? timetable.next(computedAt) : row.nextNominalAt;
  const mayBeOffTimetable = timeZoneVersion !== "" && nextNominalAt !== null && nextNominalAt <= now;
  return {
    row: { ...row, timeZoneVersion, nextNominalAt, computedAt },
    definition,
    timetable: mayBeOffTimetable ? withTime(timetable, nextNominalAt) : timetable,
    tickHistory,
    setBackMs: wasSetBack ? row.computedAt - now : 0,
  };
};

/** No tick comes to a paused one, so a run cannot wait there. */
const policiesOf = ({ paused }: StateRecurringJob, { policies }: RecurringDefinition): RecurrencePolicies =>
  paused && policies.overlap === "queue_one" ? { ...policies, overlap: "skip" } : policies;

/** Starts a job of a recurring job now, by its `overlap` policy. Its regular times stay as they are. */
export const triggerRecurringJob = (
  engine: Engine,
  passed: unknown,
): Promise<TriggeredRecurringJob<string>> =>
  operation(
    engine,
    "recurring.trigger",
    passed,
    { options: { id: true }, part: "recurring" },
    async ({ options, ctx, part }) => {
      const id = requireId(options["id"], "id");
      const { lockRecurring } = part;

      return runAtomically(engine, "recurring.trigger", ctx, async (inner, afterCommit) => {
        const [found] = await lockRecurring({ ctx: inner, ids: [id] });
        const row = requireFound(id, found);
        const now = await engine.store.getTime({ ctx: inner });
        const definition = readDefinition(id, row.definition);
        const recurring = {
          row,
          definition,
          timetable: timetableOf(definition),
          tickHistory: readTickHistory(row.tickHistory),
          setBackMs: 0,
        };
        const unfinished = await findUnfinished(engine, inner, [recurring]);
        const unfinishedSequenceId =
          row.lastSequenceId !== null && unfinished.has(row.lastSequenceId) ? row.lastSequenceId : null;
        const question: TickInput = {
          id,
          policies: policiesOf(row, definition),
          timetable: recurring.timetable,
          nextNominalAt: row.nextNominalAt,
          waiting: recurring.tickHistory.waiting,
          unfinishedSequenceId,
          now,
        };
        const decided = decideRuns(question, [{ nominalAt: now, missed: 0, triggered: true }]);
        const isNewlyWaiting = decided.waiting !== null && decided.waiting !== question.waiting;
        const decision = {
          ...decided,
          nextNominalAt: row.nextNominalAt,
          runsAt: isNewlyWaiting ? Math.min(row.runsAt ?? Infinity, now) : row.runsAt,
        };
        const [ticks] = await startRuns(engine, inner, afterCommit, now, [{ ...recurring, decision }]);
        const own = ticks!.findLast((tick) => tick.triggered && tick.nominalAt === now);
        if (isNewlyWaiting) {
          wakeTickers(afterCommit);
          return { result: "waiting", sequenceId: null };
        }
        return { result: own!.result === "skipped" ? "skipped" : "started", sequenceId: own!.sequenceId };
      });
    },
  );
