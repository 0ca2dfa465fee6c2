import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type { StateJob } from "../store/contract/job.ts";
import { until } from "./patience.ts";

/** Claims the next job as a worker that is never heard of again, and returns when its lease has run out. */
export const claimAndVanish = async (
  stateAdapter: AnyStateAdapter,
  { queue, typeName, workerId }: Record<"queue" | "typeName" | "workerId", string>,
): Promise<StateJob> => {
  const [job] = await stateAdapter.claimJobs({
    workerId,
    leaseToken: randomUUID(),
    leaseMs: 1,
    requests: [{ queue, typeNames: [typeName], limit: 1 }],
    limit: 1,
  });
  assert.ok(job?.leasedUntil);
  const { leasedUntil } = job;
  await until(async () => (await stateAdapter.getTime()) > leasedUntil, "the lease has run out");
  return job;
};
