import { expect, it } from "vitest";
import type { ObservabilityAdapter } from "./adapter.ts";
import { createObserve } from "./observe.ts";

// An async function where none is expected, which the compiler does not mind.
const rejecting = (): never => Promise.reject(new Error("rejected")) as never;

const data = { workerId: "w", typeNames: [] };

it("is not disturbed by an observer that throws, rejects or cannot be read", async () => {
  const observers: readonly ObservabilityAdapter[] = [
    {
      workerStarted: () => {
        throw new Error("thrown");
      },
    },
    { workerStarted: rejecting },
    Object.defineProperty({}, "workerStarted", {
      get: () => {
        throw new Error("unreadable");
      },
    }),
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
