import type { FlowLimits } from "../answers.ts";
import { formatCount, formatDuration } from "../format.ts";

/** Limits in words. */
export const describeLimits = (limits: FlowLimits | null): string => {
  if (limits === null) return "–";
  const parts = [
    limits.concurrency === null ? "" : `${formatCount(limits.concurrency)} at once`,
    limits.rate === null ? "" : `${formatCount(limits.rate.limit)} in ${formatDuration(limits.rate.perMs)}`,
  ].filter(Boolean);
  return parts.length === 0 ? "–" : parts.join(", ");
};
