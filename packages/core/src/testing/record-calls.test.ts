import { describe, expect, it } from "vitest";
import type { NotifyAdapter } from "../notify/contract.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { recordCalls } from "./record-calls.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

describe("recordCalls", () => {
  it("remembers method, arguments and result, and passes them on", async () => {
    const { adapter, calls, callsOf } = recordCalls(createInProcessStateAdapter());
    expect(await adapter.getTime({ now: 5 })).toBe(5);
    await adapter.getJobs({ jobIds: ["none"] });
    expect(adapter.isTransientError("x")).toBe(false);
    expect(calls).toEqual([
      { method: "getTime", args: [{ now: 5 }], outcome: { kind: "returned", result: 5 } },
      { method: "getJobs", args: [{ jobIds: ["none"] }], outcome: { kind: "returned", result: [undefined] } },
      { method: "isTransientError", args: ["x"], outcome: { kind: "returned", result: false } },
    ]);
    expect(callsOf("getTime")).toEqual([calls[0]]);
  });

  it("remembers what was thrown, and throws it", async () => {
    const { adapter, calls } = recordCalls(createInProcessNotifyAdapter());
    await adapter.close();
    const error: unknown = await adapter.notifyJobScheduled("type", 1).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "AdapterClosed" });
    expect(calls[1]?.outcome).toEqual({ kind: "threw", error });
  });

  it("shows a call that has not settled", async () => {
    const { adapter, calls } = recordCalls(createInProcessStateAdapter());
    let release = (): void => undefined;
    const running = adapter.runInTransaction(() => new Promise<void>((resolve) => (release = resolve)));
    expect(calls[0]?.outcome).toEqual({ kind: "pending" });
    await Promise.resolve();
    release();
    await running;
    expect(calls[0]?.outcome.kind).toBe("returned");
  });
});

describe("wrapAdapter", () => {
  it("reaches the methods of a class and of its parents, with their `this`", () => {
    class Parent {
      protected name = "peer";
      greet(): string {
        return `hello ${this.name}`;
      }
    }
    class Child extends Parent {
      rename(name: string): void {
        this.name = name;
      }
    }
    const seen: string[] = [];
    const wrapped = wrapAdapter(new Child(), (method, original) => (...args) => {
      seen.push(method);
      return original(...args);
    });
    wrapped.rename("you");
    expect(wrapped.greet()).toBe("hello you");
    expect(seen).toEqual(["rename", "greet"]);
  });

  it("wraps a frozen adapter", async () => {
    const frozen: NotifyAdapter = Object.freeze(createInProcessNotifyAdapter());
    const wrapped = wrapAdapter(frozen, () => () => "replaced");
    expect(wrapped.close()).toBe("replaced");
  });
});
