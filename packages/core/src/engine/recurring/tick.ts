import type { StateRecurringJob } from "../../contracts/state-adapter.ts";
import { decideTick } from "../../model/recurrence/decide-tick.ts";
import { readRecord } from "../../model/recurrence/tick-record.ts";
import type { Engine } from "../engine.ts";
import { runAtomically } from "../transaction.ts";
import { readDefinition, timetableOf, zoneDataOf } from "./definition.ts";
import { carryOut, findUnfinished, type LockedRecurringJob } from "./start-runs.ts";

/** Enough to make the cost of the transaction small, few enough that it is short. */
export const tickBatchSize = 200;
// Time for a newer version of Leasehold, which can read it, to come first.
const unreadableMs = 60_000;

/**
 * One tick: locks recurring jobs that are due, starts their jobs and moves them on, all in one transaction. A crash undoes all
 * of it; a commit whose answer is lost has moved them on, so no time comes twice. Returns how many it has looked at.
 *
 * With `zoneData`, those that were computed by older zone data are looked at, too.
 */
export const tickRecurringJobs = async (engine: Engine, zoneData: string | null): Promise<number> =>
  runAtomically(engine, "tickRecurringJobs", undefined, async (ctx, afterCommit) => {
    const { now, jobs } = await engine.store.flow!.lockDueRecurring({ ctx, limit: tickBatchSize, zoneData });
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
      await engine.store.flow!.advanceRecurring({
        ctx,
        jobs: unreadable.map((row) => ({ ...row, fireAt: now + unreadableMs })),
      });
    }
    if (locked.length === 0) return jobs.length;

    const unfinished = await findUnfinished(engine, ctx, locked);
    const decided = locked.map((recurring) => {
      const { row, definition, timetable, record } = recurring;
      const { id, nextNominalAt, lastSequenceId } = row;
      const unfinishedSequenceId =
        lastSequenceId !== null && unfinished.has(lastSequenceId) ? lastSequenceId : null;
      const decision = decideTick({
        id,
        policies: definition.policies,
        timetable,
        nextNominalAt,
        waiting: record.waiting,
        unfinishedSequenceId,
        now,
      });
      return { ...recurring, decision };
    });
    await carryOut(engine, ctx, afterCommit, now, decided);
    return jobs.length;
  });

const read = (row: StateRecurringJob, now: number): LockedRecurringJob => {
  const definition = readDefinition(row.id, row.definition);
  const timetable = timetableOf(definition);
  const record = readRecord(row.record);
  // A time that was due by the older data stays; one that is still to come is computed anew.
  const zoneData = zoneDataOf(definition);
  const isOutdated = row.zoneData !== zoneData && (row.nextNominalAt ?? 0) > now;
  return {
    row: { ...row, zoneData, nextNominalAt: isOutdated ? timetable.next(now) : row.nextNominalAt },
    definition,
    timetable,
    record,
  };
};
