import type { NewJob, StateRecurringJob } from "../../contracts/state-adapter.ts";
import { isTerminal } from "../../model/job.ts";
import type { TickDecision } from "../../model/recurrence/decide-tick.ts";
import { fireTimeOf } from "../../model/recurrence/decide-tick.ts";
import { writeJobRecurrence } from "../../model/recurrence/job-recurrence.ts";
import {
  addToRecord,
  type RecordedTick,
  type TickRecord,
  writeRecord,
} from "../../model/recurrence/tick-record.ts";
import type { Timetable } from "../../model/recurrence/timetable.ts";
import { immediately } from "../../model/schedule.ts";
import type { AfterCommit } from "../after-commit.ts";
import { cancelInTransaction } from "../cancel.ts";
import type { Engine } from "../engine.ts";
import { announceCreation } from "../start.ts";
import type { JobTemplate, RecurringDefinition } from "./definition.ts";

/** A recurring job whose row is locked, with what its texts say. */
export interface LockedRecurringJob {
  readonly row: StateRecurringJob;
  readonly definition: RecurringDefinition;
  readonly timetable: Timetable;
  readonly record: TickRecord;
}

/** The last sequences of these, as far as they have not finished. Reads only what an `overlap` policy asks for. */
export const findUnfinished = async (
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
export const carryOut = async (
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

  await engine.store.flow!.advanceRecurring({
    ctx,
    jobs: decided.map(({ row, record, decision }, index) => ({
      id: row.id,
      nextNominalAt: decision.nextNominalAt,
      fireAt: decision.fireAt,
      lastSequenceId:
        ticks[index]!.findLast(({ result }) => result === "started" || result === "caught_up")?.sequenceId ??
        row.lastSequenceId,
      record: writeRecord({ ...addToRecord(record, ticks[index]!), waiting: decision.waiting }),
      zoneData: row.zoneData,
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
        latenessMs: triggered ? 0 : at - fireTimeOf({ id: row.id, timetable, policies }, nominalAt),
      }));
  }
};
