import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type { StateJob } from "../store/contract/job.ts";
import { until } from "./patience.ts";

/**
 * Claims and begins the next job as a worker that is never heard of again, and returns when its lease has run out. After an
 * expired lease it begins as the last attempt.
 */
export const claimAndVanish = async (
  stateAdapter: AnyStateAdapter,
  { queue, typeName, workerId }: Record<"queue" | "typeName" | "workerId", string>,
): Promise<StateJob> => {
  const leaseToken = randomUUID();
  const [job] = await stateAdapter.claimJobs({
    workerId,
    leaseToken,
    leaseMs: 60_000,
    requests: [{ queue, typeNames: [typeName], limit: 1 }],
    limit: 1,
  });
  assert.ok(job);
  const lastAttempt = job.expiredLeases > 0 ? job.attempt : undefined;
  const leases = [{ jobId: job.id, leaseToken, leaseMs: 1, lastAttempt }];
  const [renewal] = await stateAdapter.renewLeases({ leases });
  assert.ok(renewal?.kind === "renewed");
  const { leasedUntil } = renewal;
  await until(async () => (await stateAdapter.getTime()) > leasedUntil, "the lease has run out");
  return { ...job, leasedUntil };
};
