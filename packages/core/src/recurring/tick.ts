import { requireId } from "../base/options.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { operation, runAtomically } from "../engine/operation.ts";
import { cancelInTransaction } from "../jobs/cancel.ts";
import { announceCreation } from "../jobs/start.ts";
import { writeJobRecurrence } from "../jobs/view.ts";
import type { NewJob } from "../store/contract/creation.ts";
import { isTerminal } from "../store/contract/job.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";
import { immediately } from "../store/rules/transitions.ts";
import type { TriggeredRecurringJob } from "./api.ts";
import { requireFound, wakeTickers } from "./change.ts";
import {
  addTicks,
  decideRuns,
  decideTick,
  runTimeOf,
  readTickHistory,
  type RecordedTick,
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
import type { Timetable } from "./timetable.ts";

/** A recurring job whose row is locked, with what its texts say. */
export interface LockedRecurringJob {
  readonly row: StateRecurringJob;
  readonly definition: RecurringDefinition;
  readonly timetable: Timetable;
  readonly tickHistory: TickHistory;
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

const createJob = (template: JobTemplate, id: string, recurrence: string): NewJob => ({
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
      tickHistory: writeTickHistory({ ...addTicks(tickHistory, ticks[index]!), waiting: decision.waiting }),
      timeZoneVersion: row.timeZoneVersion,
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
// Time for a newer version of Leasehold, which can read it, to come first.
const unreadableMs = 60_000;

/**
 * One tick: locks recurring jobs that are due, starts their jobs and moves them on, all in one transaction. A crash
 * rolls all of it back; a commit whose reply is lost has advanced them, so no run is started twice. Returns how many
 * it has read.
 *
 * With `timeZoneVersion`, it also reads recurring jobs whose times were computed with older zone data.
 */
export const tickRecurringJobs = async (engine: Engine, timeZoneVersion: string | null): Promise<number> =>
  runAtomically(engine, "tickRecurringJobs", undefined, async (ctx, afterCommit) => {
    const { now, jobs } = await engine.store.recurring!.lockDueRecurring({
      ctx,
      limit: tickBatchSize,
      timeZoneVersion,
    });
    const locked: LockedRecurringJob[] = [];
    const unreadable: StateRecurringJob[] = [];
    for (const row of jobs) {
      try {
        locked.push(read(row, now));
      } catch (error) {
        engine.observe("stateAdapterError", () => ({ operation: "tickRecurringJobs", error }));
        unreadable.push(row);
      }
    }
    if (unreadable.length > 0) {
      await engine.store.recurring!.advanceRecurring({
        ctx,
        jobs: unreadable.map((row) => ({ ...row, runsAt: now + unreadableMs })),
      });
    }
    if (locked.length === 0) return jobs.length;

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
    return jobs.length;
  });

const read = (row: StateRecurringJob, now: number): LockedRecurringJob => {
  const definition = readDefinition(row.id, row.definition);
  const timetable = timetableOf(definition);
  const tickHistory = readTickHistory(row.tickHistory);
  // A time that was due by the older data stays; one that is still to come is computed anew.
  const timeZoneVersion = zoneDataOf(definition);
  const isOutdated = row.timeZoneVersion !== timeZoneVersion && (row.nextNominalAt ?? 0) > now;
  return {
    row: { ...row, timeZoneVersion, nextNominalAt: isOutdated ? timetable.next(now) : row.nextNominalAt },
    definition,
    timetable,
    tickHistory,
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
        const row = requireFound(id, await lockRecurring({ ctx: inner, id }));
        const now = await engine.store.getTime({ ctx: inner });
        const definition = readDefinition(id, row.definition);
        const recurring = {
          row,
          definition,
          timetable: timetableOf(definition),
          tickHistory: readTickHistory(row.tickHistory),
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
