import { expect, it } from "vitest";
import type { AnyLeasehold } from "../http/leasehold.ts";
import { createBehindSince } from "./read-summary.ts";

const now = Date.UTC(2040, 0, 1);

const minute = 60_000;

const behind = { queue: "default", oldestAt: now - 5 * minute, lateMs: minute };

/** Statistics by the minutes before now: how long jobs waited that started then; null where none did. */
const withWaits = (waits: Readonly<Record<number, number | null>>) => {
  let reads = 0;
  const getStatistics = async () => {
    reads += 1;
    return Object.entries(waits).map(([ago, p50]) => ({
      from: new Date(now - Number(ago) * minute),
      estimated: { timeToStartMs: p50 === null ? null : { p50, p95: p50, p99: p50 } },
    }));
  };
  const leasehold = { history: { getStatistics } } as unknown as AnyLeasehold;
  return { find: createBehindSince(leasehold), reads: () => reads };
};

it("goes back as long as jobs were late, over minutes in which none started", async () => {
  const { find } = withWaits({ 50: 100, 40: 200, 30: 5 * minute, 20: null, 10: 5 * minute, 1: 6 * minute });
  expect(await find(behind, now)).toBe(now - 30 * minute);
});

it("goes by the oldest job where none has started late yet", async () => {
  expect(await withWaits({ 8: 100, 6: 50 }).find(behind, now)).toBe(now - 4 * minute);
  expect(await withWaits({}).find(behind, now)).toBe(now - 4 * minute);
});

it("reads once a minute for each queue", async () => {
  const { find, reads } = withWaits({ 10: 5 * minute });
  for (const at of [0, 30_000, minute]) expect(await find(behind, now + at)).toBe(now - 10 * minute);
  expect(reads()).toBe(1);
  await find({ ...behind, queue: "other" }, now);
  await find(behind, now + minute + 1);
  expect(reads()).toBe(3);
});
