import type { Finding } from "../contracts/state-adapter.ts";
import { formatCount } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";
import { countCap, type Facts } from "./facts.ts";

const recentMs = 3_600_000;
const sampleSize = 500;

/** Whether a failure is so fresh that somebody should look. Older ones have been seen, or can wait. */
export const isRecentFailure = (failedAt: number, now: number): boolean => failedAt >= now - recentMs;

export const checkFailures = async (facts: Facts): Promise<readonly Finding[]> => {
  const now = await facts.now();
  const backlog = await facts.backlog();
  const isMore = backlog.some(({ failed }) => failed >= countCap);
  const failed = `${formatCount(backlog.reduce((sum, type) => sum + type.failed, 0))}${isMore ? "+" : ""}`;
  const { jobs } = await facts.store.listJobs({
    filter: { statuses: ["failed"] },
    order: "newest",
    limit: sampleSize,
    after: null,
  });
  const recent = jobs.filter(({ failedAt }) => failedAt !== null && isRecentFailure(failedAt, now)).length;
  if (recent === 0) return [finding.ok("failures", `${failed} failed jobs, none of the last hour.`)];
  const lately = `${formatCount(recent)}${recent === sampleSize ? "+" : ""}`;
  return [
    finding.warning(
      "failures",
      `${lately} ${lately === "1" ? "job" : "jobs"} failed in the last hour; ${failed} in all.`,
      "See `leasehold failed list`, and `leasehold failed redrive` when the cause is gone.",
    ),
  ];
};
