import { afterAll, describe, expect, it } from "vitest";
import { notifyAdapterConformance } from "../conformance/notify-adapter.ts";
import { AdapterClosedError } from "../store/errors.ts";
import { createInProcessNotifyAdapter, createNoopNotifyAdapter } from "./in-process.ts";

describe("in-process notify adapter", () => {
  notifyAdapterConformance(
    { describe, it, afterAll },
    {
      countsHints: true,
      create: async () => {
        const adapter = createInProcessNotifyAdapter();
        return { adapter, peer: adapter, destroy: () => adapter.close() };
      },
    },
  );

  it("takes turns among its listeners", async () => {
    const adapter = createInProcessNotifyAdapter();
    const turns: string[] = [];
    for (const name of ["a", "b", "c"]) await adapter.listenJobScheduled(["type"], () => turns.push(name));
    for (let times = 0; times < 3; times += 1) await adapter.notifyJobScheduled("type", 2);
    expect(turns.join("")).toBe("abcabc");
  });

  it("calls back before the notification returns", () => {
    const adapter = createInProcessNotifyAdapter();
    const heard: string[] = [];
    void adapter.listenJobScheduled(null, (typeName) => heard.push(typeName));
    void adapter.notifyJobScheduled("type", 1);
    expect(heard).toEqual(["type"]);
  });

  it("rejects with what listeners threw, after all have heard", async () => {
    const adapter = createInProcessNotifyAdapter();
    const first = new Error("first");
    const second = new Error("second");
    const heard: string[] = [];
    const failWith = (error: Error) => (): never => {
      throw error;
    };
    await adapter.listenJobOwnershipLost(failWith(first));
    await adapter.listenJobOwnershipLost((id) => heard.push(id));
    await expect(adapter.notifyJobOwnershipLost(["a"])).rejects.toBe(first);
    await adapter.listenJobOwnershipLost(failWith(second));
    await expect(adapter.notifyJobOwnershipLost(["b"])).rejects.toMatchObject({ errors: [first, second] });
    expect(heard).toEqual(["a", "b"]);
  });

  it("counts a wantsHint that throws as a listener that was tried", async () => {
    const adapter = createInProcessNotifyAdapter();
    const heard: string[] = [];
    const broken = (): never => {
      throw new Error("bug");
    };
    await adapter.listenJobScheduled(null, (typeName) => heard.push(typeName), broken);
    await adapter.listenJobScheduled(null, (typeName) => heard.push(typeName));
    await expect(adapter.notifyJobScheduled("type", 2)).rejects.toThrow("bug");
    expect(heard).toEqual(["type"]);
  });

  it("stops in the middle of a notification when a listener closes it", async () => {
    const adapter = createInProcessNotifyAdapter();
    const heard: string[] = [];
    const close = (name: string): void => {
      heard.push(name);
      void adapter.close();
    };
    for (let times = 0; times < 2; times += 1) {
      await adapter.listenJobScheduled(null, close);
      await adapter.listenJobSequenceCompleted(["sequence"], close);
    }
    await adapter.notifyJobScheduled("type", 2);
    expect(heard).toEqual(["type"]);
  });

  it("refuses everything once it is closed", async () => {
    const adapter = createInProcessNotifyAdapter();
    await adapter.close();
    await expect(adapter.notifyJobScheduled("type", 1)).rejects.toThrow(AdapterClosedError);
    await expect(adapter.listenJobScheduled(null, () => undefined)).rejects.toThrow(AdapterClosedError);
  });
});

describe("no-op notify adapter", () => {
  it("hears nothing and never fails", async () => {
    const adapter = createNoopNotifyAdapter();
    const heard: string[] = [];
    const dispose = await adapter.listenJobScheduled(null, (typeName) => heard.push(typeName));
    await adapter.listenJobSequenceCompleted(["a"], (id) => heard.push(id));
    await adapter.listenJobOwnershipLost((id) => heard.push(id));
    await adapter.notifyJobScheduled("type", 1);
    await adapter.notifyJobSequenceCompleted(["a"]);
    await adapter.notifyJobOwnershipLost(["a"]);
    await dispose();
    await adapter.close();
    expect(heard).toEqual([]);
  });
});
