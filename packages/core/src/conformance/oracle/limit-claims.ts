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
import type { World } from "./world.ts";

type Lease = Parameters<typeof claim>[1];

/**
 * What was claimed from the queue with groups and rules. Which line comes first is not the model's business, but each job
 * was the first of its line and nothing held it back. Returns whether a job was left that could have been taken.
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
    claim(job, call, now);
    admit(model, job, now);
    assertSameJob(row, job);
  }
  return admissibleIn(model, request, call.maxAttempts, now).length > 0;
};
