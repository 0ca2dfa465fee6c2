import { requirePart } from "../../contracts/optional-parts.ts";
import type { StateRecurringJob } from "../../contracts/state-adapter.ts";
import { requireId, requirePlainObject } from "../../model/option-checks.ts";
import { decideRuns, type TickQuestion } from "../../model/recurrence/decide-tick.ts";
import type { RecurrencePolicies } from "../../model/recurrence/policies.ts";
import { readRecord } from "../../model/recurrence/tick-record.ts";
import type { TriggeredRecurringJob } from "../../api/recurring.ts";
import type { Engine } from "../engine.ts";
import { resolveTransaction, runAtomically } from "../transaction.ts";
import { requireFound } from "./change.ts";
import { readDefinition, type RecurringDefinition, timetableOf } from "./definition.ts";
import { carryOut, findUnfinished } from "./start-runs.ts";
import { wakeTickers } from "./wake-up.ts";

/** No tick comes to a paused one, so a run cannot wait there. */
const policiesOf = ({ paused }: StateRecurringJob, { policies }: RecurringDefinition): RecurrencePolicies =>
  paused && policies.overlap === "queue_one" ? { ...policies, overlap: "skip" } : policies;

/** Starts a job of a recurring job now, by its `overlap` policy. Its regular times stay as they are. */
export const triggerRecurringJob = async (
  engine: Engine,
  passed: unknown,
): Promise<TriggeredRecurringJob<string>> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "triggerRecurringJob", options, { id: true });
  const id = requireId(options["id"], "id");
  const flow = requirePart(engine.store, "flow", "triggerRecurringJob");

  return runAtomically(engine, "triggerRecurringJob", ctx, async (inner, afterCommit) => {
    const row = requireFound(id, await flow.lockRecurring({ ctx: inner, id }));
    const now = await engine.store.getTime({ ctx: inner });
    const definition = readDefinition(id, row.definition);
    const recurring = { row, definition, timetable: timetableOf(definition), record: readRecord(row.record) };
    const unfinished = await findUnfinished(engine, inner, [recurring]);
    const unfinishedSequenceId =
      row.lastSequenceId !== null && unfinished.has(row.lastSequenceId) ? row.lastSequenceId : null;
    const question: TickQuestion = {
      id,
      policies: policiesOf(row, definition),
      timetable: recurring.timetable,
      nextNominalAt: row.nextNominalAt,
      waiting: recurring.record.waiting,
      unfinishedSequenceId,
      now,
    };
    const decided = decideRuns(question, [{ nominalAt: now, missed: 0, triggered: true }]);
    const isNewlyWaiting = decided.waiting !== null && decided.waiting !== question.waiting;
    const decision = {
      ...decided,
      nextNominalAt: row.nextNominalAt,
      fireAt: isNewlyWaiting ? Math.min(row.fireAt ?? Infinity, now) : row.fireAt,
    };
    const [ticks] = await carryOut(engine, inner, afterCommit, now, [{ ...recurring, decision }]);
    const own = ticks!.findLast((tick) => tick.triggered && tick.nominalAt === now);
    if (isNewlyWaiting) {
      wakeTickers(afterCommit);
      return { result: "waiting", sequenceId: null };
    }
    return { result: own!.result === "skipped" ? "skipped" : "started", sequenceId: own!.sequenceId };
  });
};
