import { expect, it } from "vitest";
import { resolveRange } from "./range.ts";

const now = Date.UTC(2026, 2, 3, 13, 44, 2);

const minute = 60_000;

const hour = 60 * minute;

const resolve = (minutes: number, before?: number, shortest?: number) => {
  const query = { from: undefined, before: before === undefined ? undefined : new Date(before), minutes };
  const { from, before: end, bucketMs } = resolveRange(query, now, { mostParts: 200, shortest });
  return { from: new Date(from).toISOString(), before: new Date(end).toISOString(), bucketMs };
};

it("takes parts as long as what is kept of them", () => {
  expect(resolve(15)).toMatchObject({ from: "2026-03-03T13:29:00.000Z", bucketMs: 10_000 });
  expect(resolve(60)).toMatchObject({ from: "2026-03-03T12:44:00.000Z", bucketMs: minute });
  expect(resolve(24 * 60).bucketMs).toBe(10 * minute);
  expect(resolve(7 * 24 * 60).bucketMs).toBe(hour);
  expect(resolve(15, undefined, minute).bucketMs).toBe(minute);
});

it("begins and ends with whole buckets, so that an old range loses nothing", () => {
  const threeDaysAgo = Date.UTC(2026, 1, 28, 14, 5);
  expect(resolve(60, threeDaysAgo)).toEqual({
    from: "2026-02-28T13:00:00.000Z",
    before: "2026-02-28T15:00:00.000Z",
    bucketMs: hour,
  });
  expect(resolve(15, now - 90 * minute)).toEqual({
    from: "2026-03-03T11:59:00.000Z",
    before: "2026-03-03T12:15:00.000Z",
    bucketMs: minute,
  });
});

it("never goes beyond now", () => {
  expect(resolve(15, now + hour).before).toBe(new Date(now).toISOString());
});
