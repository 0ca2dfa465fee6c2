import { type Clock, systemClock } from "../clock.ts";
import type { Finding } from "../contracts/state-adapter.ts";
import type { StateStore } from "../engine/dispatch.ts";
import { formatDuration } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";

const tolerableMs = 2_000;

/** A difference breaks nothing, since the store's clock decides. But this machine shows dates, and takes schedules, by its own. */
export const checkClock = async (
  store: Pick<StateStore, "getTime">,
  clock: Pick<Clock, "now"> = systemClock,
): Promise<readonly Finding[]> => {
  const before = clock.now();
  const storeTime = await store.getTime();
  const after = clock.now();
  const difference = Math.round(storeTime - (before + after) / 2);
  // The answer was made at some moment between the two readings.
  const uncertainty = (after - before) / 2;
  if (Math.abs(difference) <= tolerableMs + uncertainty) {
    return [
      finding.ok("clock", `The store's clock and this machine's differ by ${formatDuration(difference)}.`),
    ];
  }
  const direction = difference > 0 ? "ahead of" : "behind";
  return [
    finding.warning(
      "clock",
      `The store's clock is ${formatDuration(difference)} ${direction} this machine's.`,
      "Synchronise both by NTP. Leases go by the store's clock and are safe, but dates given here mean something else there.",
    ),
  ];
};
