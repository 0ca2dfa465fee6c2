import { expect, it } from "vitest";
import type { ObservabilityAdapter } from "./adapter.ts";
import { createObserve } from "./observe.ts";

// An async function where none is expected, which the compiler does not mind.
const rejecting = (): never => Promise.reject(new Error("rejected")) as never;

const data = { workerId: "w", typeNames: [] };

it("is not disturbed by an observer that throws or rejects", async () => {
  const observers: readonly ObservabilityAdapter[] = [
    {
      workerStarted: () => {
        throw new Error("thrown");
      },
    },
    { workerStarted: rejecting },
  ];
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  for (const observer of observers) {
    createObserve(rejecting, observer)("workerStarted", () => data);
  }
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});
