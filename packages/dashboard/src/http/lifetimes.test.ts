import { expect, it, vi } from "vitest";
import { createLifetimes } from "./lifetimes.ts";

it("ends a signal with the request, after a time, and when it is closed", async () => {
  const lifetimes = createLifetimes();
  const request = new AbortController();
  const untilAborted = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted")));
  const withRequest = lifetimes.during({ until: request.signal, ms: 60_000 }, untilAborted);
  request.abort();
  expect(await withRequest).toBe("aborted");
  expect(await lifetimes.during({ ms: 1 }, untilAborted)).toBe("aborted");
  const closed = lifetimes.during({ ms: 60_000 }, untilAborted);
  lifetimes.close();
  expect(await closed).toBe("aborted");
  expect(await lifetimes.during({ ms: 60_000 }, async ({ aborted }) => aborted)).toBe(true);
});

it("leaves nothing behind on a signal that outlives the work", async () => {
  const lifetimes = createLifetimes();
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  const failing = lifetimes.during({ until: signal, ms: 60_000 }, async () => {
    throw new Error("no answer");
  });
  await expect(failing).rejects.toThrow("no answer");
  await lifetimes.during({ until: signal, ms: 60_000 }, async () => undefined);
  expect(added).toHaveBeenCalledTimes(2);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  );
});
