import assert from "node:assert/strict";
import type { WaitingJobChange } from "../../store/contract/edits.ts";
import { requirePart } from "../../store/parts.ts";
import { drawSchedule, typeNames } from "./actions-start.ts";
import { assertSameJob, assertSameSet } from "./compare.ts";
import type { Draw } from "./draw.ts";
import type { ModelJob } from "./store.ts";
import { expire, expiredJobs, update } from "./waiting-jobs.ts";
import type { Action } from "./world.ts";

const drawChange = (draw: Draw, now: number): WaitingJobChange => ({
  ...(draw.below(2) === 0 && { schedule: drawSchedule(draw, now) }),
  ...(draw.below(3) === 0 && { priority: draw.pick([0, 5, -1]) }),
  ...(draw.below(3) === 0 && { input: { typeName: draw.pick(typeNames), text: '{"n":2}' } }),
});

export const updateSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const jobIds = Array.from({ length: draw.below(3) + 1 }, () =>
    draw.pick([...model.jobs.keys(), world.createId()]),
  );
  const change = drawChange(draw, now);
  world.note("updateWaitingJobs", { jobIds, change });
  const edits = requirePart(adapter, "edits", "updateWaitingJobs");
  const results = await edits.updateWaitingJobs({ jobIds, change, now, ctx });
  const kinds = update(model, jobIds, change, now);
  assert.deepEqual(
    results.map(({ jobId, kind }) => [jobId, kind]),
    jobIds.map((id, index) => [id, kinds[index]]),
  );
  for (const { jobId, job } of results) {
    const stored = model.jobs.get(jobId);
    if (stored === undefined) assert.equal(job, null);
    else assertSameJob(job, stored);
  }
};

export const expireSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const limit = draw.pick([100, 1]);
  world.note("expireWaitingJobs", { limit });
  const due = expiredJobs(model, now);
  const edits = requirePart(adapter, "edits", "expireWaitingJobs");
  const results = await edits.expireWaitingJobs({ limit, error: "too late", now, ctx });
  assert.equal(results.length, Math.min(limit, due.size), "how many expired");
  for (const { job: row, cascaded } of results) {
    const job = model.jobs.get(row.id) as ModelJob;
    assert.ok(due.delete(job), `job ${row.id} had waited too long`);
    assertSameSet(cascaded, expire(model, job, { error: "too late" }, now), "cascaded");
    assertSameJob(row, job);
  }
};
