import { formatDuration } from "../output/amounts.ts";
import type { OpenedStore } from "../store/store.ts";
import { type Finding, ok, warning } from "./finding.ts";

const tolerableMs = 2_000;

/** A difference breaks nothing, since the store's clock decides. But this machine shows dates, and takes schedules, by its own. */
export const checkClock = async ({ leasehold }: OpenedStore): Promise<readonly Finding[]> => {
  const before = Date.now();
  const storeTime = (await leasehold.getTime()).getTime();
  const after = Date.now();
  const difference = Math.round(storeTime - (before + after) / 2);
  // The answer was made at some moment between the two readings.
  const uncertainty = (after - before) / 2;
  if (Math.abs(difference) <= tolerableMs + uncertainty) {
    return [ok("clock", `The store's clock and this machine's differ by ${formatDuration(difference)}.`)];
  }
  const direction = difference > 0 ? "ahead of" : "behind";
  return [
    warning(
      "clock",
      `The store's clock is ${formatDuration(difference)} ${direction} this machine's.`,
      "Synchronise both by NTP. Leases go by the store's clock and are safe, but dates given here mean something else there.",
    ),
  ];
};
