import { expect, it, vi } from "vitest";
import { openShop } from "../testing/open-shop.ts";
import { createSharedAnswers } from "./live.ts";

it("reads once for equal requests, and again when the answer is old", async () => {
  const answers = createSharedAnswers({ keptMs: 20, most: 10 });
  const ask = vi.fn(async () => ask.mock.calls.length);
  expect(await Promise.all([answers.get("a", ask), answers.get("a", ask)])).toEqual([1, 1]);
  expect(await answers.get("a", ask)).toBe(1);
  expect(await answers.get("b", ask)).toBe(2);
  await expect.poll(() => answers.get("a", ask)).toBe(3);
});

it("keeps no failure, and no more answers than it may", async () => {
  const answers = createSharedAnswers({ keptMs: 60_000, most: 2 });
  await expect(answers.get("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await answers.get("a", async () => "yes")).toBe("yes");
  for (const question of ["b", "c"]) await answers.get(question, async () => question);
  expect(await answers.get("a", async () => "asked again")).toBe("asked again");
});

it("reads statistics once for all viewers of the same time", async () => {
  const { stateAdapter, read } = await openShop(["read"]);
  const readBuckets = vi.spyOn(stateAdapter.history!, "readBuckets");
  await read("statistics?minutes=15");
  const reads = readBuckets.mock.calls.length;
  expect(reads).toBeGreaterThan(0);
  await Promise.all([read("statistics?minutes=15"), read("statistics?minutes=15")]);
  expect(readBuckets.mock.calls.length).toBe(reads);
  await read("statistics?minutes=60");
  expect(readBuckets.mock.calls.length).toBe(2 * reads);
});
