import { expect, it } from "vitest";
import { wrapStateAdapterWithRetry } from "../engine/dispatch.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import { createNoopNotifyAdapter } from "../notify/in-process.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import { wrapNotifyAdapterWithLogging, wrapStateAdapterWithLogging } from "./log-adapters.ts";
import type { LogEntry } from "./log.ts";

const lost = new Error("connection lost");

/** The first `times` calls of `method` fail. */
const failing = (method: string, times: number) => {
  let left = times;
  return wrapAdapter(createInProcessStateAdapter(), (name, original) => {
    if (name === "isTransientError") return (error) => error === lost;
    if (name !== method) return original;
    return async (...args) => {
      if (left-- > 0) throw lost;
      return original(...args);
    };
  });
};

it("logs the errors of store calls, also of optional parts, and throws them on", async () => {
  const entries: LogEntry[] = [];
  for (const method of ["countJobs", "measureBacklog"]) {
    const adapter = wrapStateAdapterWithLogging(failing(method, 1), (entry) => entries.push(entry));
    const call = (): Promise<unknown> =>
      method === "countJobs"
        ? adapter.countJobs({ filter: {} })
        : adapter.statistics!.measureBacklog({ cap: 10 });
    await expect(call()).rejects.toBe(lost);
    await call();
  }
  expect(entries).toEqual(
    ["countJobs", "measureBacklog"].map((operation) => ({
      level: "error",
      event: "stateAdapterError",
      message: "Store call failed",
      data: { operation, error: lost },
    })),
  );
});

it("does not log errors that the contract defines, nor those of a transaction's own code", async () => {
  const entries: LogEntry[] = [];
  const adapter = wrapStateAdapterWithLogging(createInProcessStateAdapter(), (entry) => entries.push(entry));
  await expect(adapter.runInTransaction(() => Promise.reject(lost))).rejects.toBe(lost);
  await adapter.close();
  await expect(adapter.countJobs({ filter: {} })).rejects.toMatchObject({ code: "AdapterClosed" });
  expect(entries).toEqual([]);
});

it("logs notifications that fail", async () => {
  const entries: LogEntry[] = [];
  const broken: NotifyAdapter = {
    ...createNoopNotifyAdapter(),
    notifyQueueResumed: () => Promise.reject(lost),
  };
  const adapter = wrapNotifyAdapterWithLogging(broken, (entry) => entries.push(entry));
  await expect(adapter.notifyQueueResumed(["default"])).rejects.toBe(lost);
  await adapter.notifyJobScheduled("mail", 1);
  expect(entries.map(({ data }) => data)).toEqual([{ operation: "notifyQueueResumed", error: lost }]);
});

it("repeats store calls after transient errors, as often as configured", async () => {
  const config = { maxAttempts: 3, initialDelayMs: 0 };
  const twice = wrapStateAdapterWithRetry(failing("countJobs", 2), config);
  expect(await twice.countJobs({ filter: {} })).toEqual([]);
  const thrice = wrapStateAdapterWithRetry(failing("countJobs", 3), config);
  await expect(thrice.countJobs({ filter: {} })).rejects.toBe(lost);
  expect(() => wrapStateAdapterWithRetry(twice, { maxAttempts: 0 })).toThrow("retryConfig.maxAttempts");
});
