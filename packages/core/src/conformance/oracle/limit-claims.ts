import assert from "node:assert/strict";
import type { ClaimRequest, MaxAttempts } from "../../store/contract/claims.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { addLost } from "./attempts.ts";
import { assertSameJob } from "./compare.ts";
import { claim } from "./leases.ts";
import {
  admissibleIn,
  admit,
  freedByClaim,
  isAdmissible,
  lineBefore,
  lineOf,
  putBack,
} from "./limit-groups.ts";
import type { ModelJob } from "./store.ts";
import type { World } from "./world.ts";

type Lease = Parameters<typeof claim>[1];

/**
 * Between types the order of claims decides. Which group of a type is in turn is not the model's business, so another type is
 * only known to go first if that is so for each of its groups.
 */
const assertBeforeOtherTypes = (world: World, request: ClaimRequest, job: ModelJob): void => {
  const { model, now } = world;
  const ids = [...model.jobs.keys()];
  const inTime = (a: ModelJob, b: ModelJob): number =>
    b.priority - a.priority || a.scheduledAt - b.scheduledAt;
  const inOrder = (a: ModelJob, b: ModelJob): number => inTime(a, b) || ids.indexOf(a.id) - ids.indexOf(b.id);
  const last = new Map<string, ModelJob>();
  for (const other of model.jobs.values()) {
    const { queue, typeName } = other;
    const isAsked = request.typeNames === null || request.typeNames.includes(typeName);
    if (queue !== request.queue || typeName === job.typeName || !isAsked) continue;
    if (!isAdmissible(model, other, now)) continue;
    const known = last.get(typeName);
    if (known === undefined || inOrder(other, known) > 0) last.set(typeName, other);
  }
  for (const other of last.values())
    // Between jobs of two types with the same priority and time, either may go first.
    assert.ok(
      inTime(job, other) <= 0 || inOrder(job, other) < 0,
      `${other.typeName} runs before ${job.id} of ${job.typeName}`,
    );
};

/**
 * What was claimed from the queue with groups and rules. Each job was the first of its line, nothing held it back, and no
 * other type went first. Returns whether a job was left that could have been taken.
 */
export const followLimitedClaim = async (
  world: World,
  request: ClaimRequest,
  call: Lease & { readonly maxAttempts?: MaxAttempts | undefined },
  taken: readonly StateJob[],
  ctx: object | undefined,
): Promise<boolean> => {
  const { adapter, model, now } = world;
  const freed = freedByClaim(model, request, call.maxAttempts, now);
  const takenIds = new Set(taken.map(({ id }) => id));
  // A claim may leave a job pending whose lease had expired.
  const stored = await adapter.getJobs({ jobIds: freed.map(({ id }) => id), now, ctx });
  for (const [index, job] of freed.entries()) {
    if (!takenIds.has(job.id) && stored[index]?.status !== "pending") continue;
    addLost(model, job);
    putBack(job);
  }

  for (const row of taken) {
    const job = model.jobs.get(row.id);
    assert.ok(job, `${row.id} exists`);
    const [first] = lineBefore(model, lineOf(job), now);
    assert.equal(first?.id, job.id, "the first of its line");
    assert.ok(isAdmissible(model, job, now), `nothing holds back ${job.id}`);
    assertBeforeOtherTypes(world, request, job);
    claim(job, call, now);
    admit(model, job, now);
    assertSameJob(row, job);
  }
  return admissibleIn(model, request, call.maxAttempts, now).length > 0;
};
