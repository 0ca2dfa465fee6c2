import assert from "node:assert/strict";
import type { HeldLease } from "../../store/contract/claims.ts";
import type { AttemptNote } from "../../store/contract/history.ts";
import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import { drawLeases, fingerprints } from "./actions-leases.ts";
import { create, drawContinuation, drawSchedule, tieToBlockers } from "./actions-start.ts";
import { assertSameSequence, assertSameSet } from "./compare.ts";
import type { Draw } from "./draw.ts";
import { refusalOf } from "./leases.ts";
import { commitOutcome } from "./outcomes.ts";
import { allJobs, currentJob, dependantsOf, sequenceIds } from "./store.ts";
import { type Action, ExpectedRejection, inTransaction, type World } from "./world.ts";

type Kind = JobOutcome["kind"];

/** With the numbers that the job has now: of a lease that is stale they are wrong, and must not be used. */
const drawNote = ({ model, now }: World, draw: Draw, jobId: string): AttemptNote => {
  const job = model.jobs.get(jobId);
  return {
    attempt: job?.attempt ?? 1,
    leaseVersion: job?.leaseVersion ?? 1,
    workerId: job?.leasedBy ?? "worker-1",
    deployment: draw.pick([null, "1.0"]),
    dueAt: job?.scheduledAt ?? now,
    startedAt: job?.lastAttemptAt ?? now,
    fingerprint: draw.pick([null, ...fingerprints]),
    error: draw.pick([null, "broken"]),
    log: draw.pick([null, "[]"]),
  };
};

const drawOutcome = (
  world: World,
  draw: Draw,
  lease: { readonly jobId: string; readonly leaseToken: string | null },
  kind: Kind,
): JobOutcome => {
  const outcome = drawEnding(world, draw, lease, kind);
  const isNoted = lease.leaseToken !== null && draw.below(2) === 1;
  return isNoted ? { ...outcome, note: drawNote(world, draw, lease.jobId) } : outcome;
};

const drawEnding = (
  { now }: World,
  draw: Draw,
  lease: { readonly jobId: string; readonly leaseToken: string | null },
  kind: Kind,
): JobOutcome => {
  const error = draw.pick([null, "broken"]);
  switch (kind) {
    case "complete":
      return {
        ...lease,
        kind,
        output: draw.pick(["null", "7"]),
        continuedToId: null,
        completedBy: "worker-1",
      };
    case "fail":
      return { ...lease, kind, reason: draw.pick(["unrecoverable", "attempts_exhausted"]), error };
    case "retry":
      return { ...lease, kind, schedule: drawSchedule(draw, now), error };
    case "release":
      return { ...lease, kind, schedule: draw.pick([null, drawSchedule(draw, now)]), error };
  }
};

/**
 * Some completions need not keep their job. The contract leaves it open whether the job is deleted if the call has another outcome
 * of it, if a job that waited for it was deleted since, or, with rules, if a limit may count it.
 */
const withoutKeeping = (world: World, outcomes: readonly JobOutcome[]): readonly JobOutcome[] => {
  const { adapter, model, about } = world;
  if (about !== "jobs" || adapter.capabilities.discardsCompleted !== true) return outcomes;
  if (new Set(outcomes.map(({ jobId }) => jobId)).size < outcomes.length) return outcomes;
  return outcomes.map((outcome) => {
    const isOpen = model.everAwaited.has(outcome.jobId) && dependantsOf(model, outcome.jobId).length === 0;
    // One of the two outputs decides: by now the numbers to draw from may be used up.
    const isKept = outcome.kind !== "complete" || outcome.output !== "null";
    return isKept || isOpen ? outcome : { ...outcome, keep: false };
  });
};

/** Which of a batch's outcomes an effect is credited to depends on the order in which they are applied. */
const effectsOf = (results: readonly OutcomeResult[]) => {
  const applied = results.filter((result) => result.kind === "applied");
  return {
    unblocked: applied.flatMap(({ unblocked }) => unblocked),
    cascaded: applied.flatMap(({ cascaded }) => cascaded),
  };
};

const withoutEffects = (result: OutcomeResult): object =>
  result.kind === "applied" ? { kind: result.kind, at: result.at } : result;

const commit = async (
  world: World,
  outcomes: readonly JobOutcome[],
  ctx: object | undefined,
): Promise<void> => {
  const { adapter, model, now } = world;
  world.note("commitOutcomes", outcomes);
  const results = await adapter.commitOutcomes({ outcomes, now, ctx });
  const expected = outcomes.map((outcome) => commitOutcome(model, outcome, now));
  assert.deepEqual(results.map(withoutEffects), expected.map(withoutEffects));
  assertSameSet(effectsOf(results).unblocked, effectsOf(expected).unblocked, "unblocked");
  assertSameSet(effectsOf(results).cascaded, effectsOf(expected).cascaded, "cascaded");
  for (const [index, { jobId, kind }] of outcomes.entries()) {
    if (expected[index]!.kind === "applied") world.lastEnding.set(jobId, kind);
  }
};

const kinds: readonly Kind[] = ["complete", "retry", "fail", "release"];

/** The contract does not tell a retry from a job given back after the fact, so a job back in the queue gets the same again. */
const drawKind = ({ model, lastEnding }: World, draw: Draw, { jobId, leaseToken }: HeldLease): Kind => {
  const job = model.jobs.get(jobId);
  const kind = draw.pick(kinds);
  return job?.status === "pending" && job.leaseToken === leaseToken ? (lastEnding.get(jobId) ?? kind) : kind;
};

export const commitSome: Action = async (world, draw, ctx) => {
  const leases = drawLeases(world, draw, 4);
  if (leases.length === 0) return;
  const outcomes = leases.map((lease) => drawOutcome(world, draw, lease, drawKind(world, draw, lease)));
  await commit(world, withoutKeeping(world, outcomes), ctx);
};

export const commitWorkerless: Action = async (world, draw, ctx) => {
  const jobs = allJobs(world.model);
  if (jobs.length === 0) return;
  const { id: jobId, status } = draw.pick(jobs);
  // Putting back a job that does not run has no meaning.
  const kind = draw.pick<Kind>(status === "running" ? kinds : ["complete", "fail"]);
  await commit(world, [drawOutcome(world, draw, { jobId, leaseToken: null }, kind)], ctx);
};

const passTime = (world: World, draw: Draw): void => {
  world.now += draw.pick([0, 0, 1_000, 10_000]);
};

/** As `complete` does: locks jobs, and ends those it holds in the same transaction, by then perhaps after their leases have ended. */
export const lockAndEnd: Action = async (world, draw, ctx) => {
  const leases = drawLeases(world, draw, draw.pick([1, 3]));
  if (leases.length === 0) return;
  await inTransaction(
    world,
    async (inner) => {
      const { adapter, model, now } = world;
      world.note("lockHeldJobs", leases);
      const results = await adapter.lockHeldJobs({ leases, now, ctx: inner });
      const refusals = leases.map(({ jobId, leaseToken }) =>
        refusalOf(model.jobs.get(jobId), leaseToken, now),
      );
      assert.deepEqual(
        results,
        refusals.map((refusal) => refusal ?? { kind: "locked" }),
      );
      const held = leases.filter((_lease, index) => refusals[index] === undefined);
      if (held.length === 0) return;
      passTime(world, draw);
      if (draw.below(2) === 0) await continueSequence(world, draw, held[0]!, inner);
      else {
        const drawn = held.map((lease) => drawOutcome(world, draw, lease, draw.pick(kinds)));
        const outcomes = withoutKeeping(world, drawn);
        await commit(
          world,
          outcomes.map((outcome) => ({ ...outcome, locked: true })),
          inner,
        );
      }
    },
    ctx,
  );
};

const continueSequence = async (
  world: World,
  draw: Draw,
  lease: HeldLease | { readonly jobId: string; readonly leaseToken: null },
  ctx: object,
): Promise<void> => {
  const awaitsBlockers = draw.below(2) === 1;
  const next = { ...drawContinuation(world, draw, lease.jobId), awaitsBlockers };
  await create(world, [next], ctx);
  if (awaitsBlockers) await tieToBlockers(world, draw, next, ctx);
  const completedBy = lease.leaseToken === null ? null : "worker-1";
  await commit(
    world,
    [{ ...lease, kind: "complete", locked: true, output: null, continuedToId: next.id, completedBy }],
    ctx,
  );
};

/** As workerless completion does: locks the sequence and completes its current job, once or with a continuation. */
export const completeSequence: Action = async (world, draw, ctx) => {
  const { model } = world;
  const known = sequenceIds(model);
  if (known.length === 0) return;
  const sequenceId = draw.below(10) === 9 ? world.createId() : draw.pick(known);
  await inTransaction(
    world,
    async (inner) => {
      world.note("lockSequence", sequenceId);
      const locked = await world.adapter.lockSequence({ sequenceId, now: world.now, ctx: inner });
      assertSameSequence(model, locked, sequenceId);
      const current = currentJob(model, sequenceId);
      if (current === undefined) throw new ExpectedRejection();
      passTime(world, draw);
      const lease = { jobId: current.id, leaseToken: null };
      const isOpen = current.status !== "completed" && current.status !== "failed";
      if (isOpen && draw.below(2) === 1) await continueSequence(world, draw, lease, inner);
      else {
        const outcome = drawOutcome(world, draw, lease, draw.pick<Kind>(["complete", "fail"]));
        await commit(world, [{ ...outcome, locked: true }], inner);
      }
    },
    ctx,
  );
};
