import type { ClaimRequest, ClaimScope } from "../contracts/state-adapter.ts";
import type { StateJob } from "../model/job.ts";

const covers = ({ queue, typeNames }: ClaimScope, job: StateJob): boolean =>
  queue === job.queue && (typeNames === null || typeNames.includes(job.typeName));

/**
 * What is left of the limit of each request of a repeated claim. A job that its token holds counts against the first
 * request that covers it and has room. The limit of the call is the caller's to reduce.
 */
export const remainingLimits = (requests: readonly ClaimRequest[], held: readonly StateJob[]): number[] => {
  const free = requests.map(({ limit }) => limit);
  for (const job of held) {
    const index = requests.findIndex((request, position) => covers(request, job) && free[position]! > 0);
    if (index >= 0) free[index]! -= 1;
  }
  return free;
};
