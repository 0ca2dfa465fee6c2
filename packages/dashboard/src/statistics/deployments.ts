import type { AnyLeasehold } from "../server/services.ts";
import type { Range } from "./range.ts";

interface Counted {
  readonly from: Date;
  readonly deployment: string | null;
}

const hourMs = 3_600_000;

/** When each deployment first counted something in a stretch of time; without those that were there before. */
export const findNewDeployments = async (
  leasehold: AnyLeasehold,
  rows: readonly Counted[],
  { from, before }: Range,
): Promise<{ readonly deployment: string; readonly at: Date }[]> => {
  const first = new Map<string, Date>();
  for (const { deployment, from: at } of rows)
    if (deployment !== null && !first.has(deployment)) first.set(deployment, at);
  // What is there from the beginning on is not new, or nobody can say when it came.
  for (const [deployment, at] of first) if (at.getTime() <= from) first.delete(deployment);
  if (first.size === 0) return [];
  // One that has little to do may have done nothing at the beginning.
  const earlier = await leasehold.getStatistics({
    from: new Date(from - Math.max(before - from, hourMs)),
    before: new Date(from),
    byType: false,
    byDeployment: true,
  });
  for (const { deployment } of earlier) if (deployment !== null) first.delete(deployment);
  return [...first].map(([deployment, at]) => ({ deployment, at }));
};
