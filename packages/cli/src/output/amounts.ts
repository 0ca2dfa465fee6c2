import { formatCount, formatDuration } from "leasehold/adapter";

/** `3m 20s ago` or `in 5.0 s`. */
export const formatMoment = (at: Date, now: number): string => {
  const ms = at.getTime() - now;
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(ms)} ago`;
};

export const formatRate = (perSecond: number): string =>
  perSecond === 0 ? "–" : `${perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))}/s`;
