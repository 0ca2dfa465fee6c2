import { beforeEach, describe, expect, it, vi } from "vitest";
import { newJob } from "../conformance/state-fixture.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "../memory/state-adapter.ts";
import type { FaultPlan, FaultyCall } from "./fault-plans.ts";
import { onNthCall } from "./fault-plans.ts";
import { InjectedFaultError, withFaults } from "./faults.ts";
import { createManualClock } from "./manual-clock.ts";

const job = (): ReturnType<typeof newJob> => newJob({ queue: "queue", typeName: "type" });

let store: InProcessStateAdapter;
beforeEach(() => {
  store = createInProcessStateAdapter();
});
const exists = async (id: string): Promise<boolean> =>
  (await store.getJobs({ jobIds: [id] }))[0] !== undefined;

describe("a faulty state adapter", () => {
  it("is the adapter itself as long as nothing is planned", async () => {
    const faulty = withFaults(store, () => undefined);
    const fresh = job();
    const [created] = await faulty.createJobs({ jobs: [fresh] });
    expect(created?.job.id).toBe(fresh.id);
    expect(faulty.capabilities).toBe(store.capabilities);
    expect(faulty.isTransientError(new Error("other"))).toBe(false);
    expect(await faulty.runInTransaction(async (ctx) => faulty.isInTransaction(ctx))).toBe(true);
  });

  it("tells the plan the method, which call of it, and which of all", async () => {
    const calls: FaultyCall[] = [];
    const faulty = withFaults(store, (call) => void calls.push(call));
    await faulty.getTime();
    await faulty.getJobs({ jobIds: [] });
    await faulty.getTime();
    // Asking these is no call to the store.
    await faulty.isInTransaction({});
    faulty.isTransientError(null);
    expect(calls).toEqual([
      { method: "getTime", nth: 1, total: 1 },
      { method: "getJobs", nth: 1, total: 2 },
      { method: "getTime", nth: 2, total: 3 },
    ]);
  });

  it("fails before: nothing happened", async () => {
    const faulty = withFaults(store, onNthCall("createJobs", 1, { kind: "fail_before" }));
    const fresh = job();
    await expect(faulty.createJobs({ jobs: [fresh] })).rejects.toMatchObject({
      code: "InjectedFault",
      method: "createJobs",
      kind: "fail_before",
    });
    expect(await exists(fresh.id)).toBe(false);
    await faulty.createJobs({ jobs: [fresh] });
    expect(await exists(fresh.id)).toBe(true);
  });

  it("fails after: it happened, and the reply was lost", async () => {
    const faulty = withFaults(store, onNthCall("createJobs", 1, { kind: "fail_after" }));
    const fresh = job();
    await expect(faulty.createJobs({ jobs: [fresh] })).rejects.toThrow(InjectedFaultError);
    expect(await exists(fresh.id)).toBe(true);
  });

  it("hides a refusal behind a lost reply, as a cut line does", async () => {
    const faulty = withFaults(store, onNthCall("createJobs", 2, { kind: "fail_after" }));
    const jobs = [job()];
    await faulty.createJobs({ jobs });
    await expect(faulty.createJobs({ jobs })).rejects.toMatchObject({
      code: "InjectedFault",
      cause: { code: "JobAlreadyExists" },
    });
  });

  it("hangs without doing anything", async () => {
    const faulty = withFaults(store, onNthCall("createJobs", 1, { kind: "hang" }));
    const fresh = job();
    const settled = vi.fn<() => void>();
    void faulty.createJobs({ jobs: [fresh] }).then(settled, settled);
    await createManualClock().settle();
    expect(settled).not.toHaveBeenCalled();
    expect(await exists(fresh.id)).toBe(false);
  });

  it("delays by the clock it was given", async () => {
    const clock = createManualClock();
    const faulty = withFaults(store, onNthCall("createJobs", 1, { kind: "delay", ms: 500 }), { clock });
    const fresh = job();
    const call = faulty.createJobs({ jobs: [fresh] });
    await clock.advanceBy(499);
    expect(await exists(fresh.id)).toBe(false);
    await clock.advanceBy(1);
    await call;
    expect(await exists(fresh.id)).toBe(true);
  });

  it("calls its errors transient unless told otherwise, and asks the store about others", async () => {
    const plan = onNthCall("getTime", 1, { kind: "fail_before" });
    const transient = withFaults(store, plan);
    const error: unknown = await transient.getTime().catch((thrown: unknown) => thrown);
    expect(transient.isTransientError(error)).toBe(true);
    expect(withFaults(store, plan, { transient: false }).isTransientError(error)).toBe(false);
    const own = new Error("disk full");
    await expect(
      withFaults(store, onNthCall("getTime", 1, { kind: "fail_after", error: own })).getTime(),
    ).rejects.toBe(own);
    expect(transient.isTransientError(own)).toBe(false);
  });
});

describe("faults and transactions", () => {
  const createIn = async (plan: FaultPlan, swallow: boolean): Promise<{ id: string; outcome: unknown }> => {
    const faulty = withFaults(store, plan);
    const fresh = job();
    const outcome: unknown = await faulty
      .runInTransaction(async (ctx) => {
        await faulty.createJobs({ ctx, jobs: [fresh] });
        // A copy of the context, as user code may pass it.
        const read = faulty.getTime({ ctx: { ...ctx } });
        await (swallow ? read.catch(() => undefined) : read);
        return "committed";
      })
      .catch((error: unknown) => error);
    return { id: fresh.id, outcome };
  };

  it("commits without faults", async () => {
    const { id, outcome } = await createIn(() => undefined, false);
    expect([outcome, await exists(id)]).toEqual(["committed", true]);
  });

  it("a fault inside rolls the transaction back", async () => {
    const { id, outcome } = await createIn(onNthCall("getTime", 1, { kind: "fail_before" }), false);
    expect(outcome).toBeInstanceOf(InjectedFaultError);
    expect(await exists(id)).toBe(false);
  });

  it("also when the caller swallows it and goes on", async () => {
    const { id, outcome } = await createIn(onNthCall("getTime", 1, { kind: "fail_after" }), true);
    expect(outcome).toBeInstanceOf(InjectedFaultError);
    expect(await exists(id)).toBe(false);
  });

  it("after a fault every call in the transaction fails", async () => {
    const faulty = withFaults(store, onNthCall("getTime", 1, { kind: "fail_before" }));
    const seen: unknown[] = [];
    const transaction = faulty.runInTransaction(async (ctx) => {
      for (let times = 0; times < 2; times += 1) {
        await faulty.getTime({ ctx }).catch((error: unknown) => seen.push(error));
      }
      // This one has nothing to do with the transaction.
      seen.push(typeof (await faulty.getTime()));
    });
    await expect(transaction).rejects.toThrow(InjectedFaultError);
    expect(seen).toEqual([expect.any(InjectedFaultError), seen[0], "number"]);
  });

  it("a transaction that fails before never began", async () => {
    const callback = vi.fn<() => Promise<number>>(async () => 1);
    const faulty = withFaults(store, onNthCall("runInTransaction", 1, { kind: "fail_before" }));
    await expect(faulty.runInTransaction(callback)).rejects.toThrow(InjectedFaultError);
    expect(callback).not.toHaveBeenCalled();
  });

  it("a transaction that fails after has committed", async () => {
    const { id, outcome } = await createIn(onNthCall("runInTransaction", 1, { kind: "fail_after" }), false);
    expect(outcome).toMatchObject({ method: "runInTransaction", kind: "fail_after" });
    expect(await exists(id)).toBe(true);
  });

  const createAroundSavepoint = async (
    plan: FaultPlan,
  ): Promise<{ outer: string; inner: string; outcome: unknown }> => {
    const faulty = withFaults(store, plan);
    const [outer, inner] = [job(), job()];
    const outcome: unknown = await faulty
      .runInTransaction(async (ctx) => {
        await faulty.createJobs({ ctx, jobs: [outer] });
        const savepoint = faulty.runInTransaction(async (innerCtx) => {
          await faulty.createJobs({ ctx: innerCtx, jobs: [inner] });
          await faulty.getTime({ ctx: innerCtx });
        }, ctx);
        await savepoint.catch(() => undefined);
        return "committed";
      })
      .catch((error: unknown) => error);
    return { outer: outer.id, inner: inner.id, outcome };
  };

  it("a fault inside a savepoint undoes only the savepoint", async () => {
    const { outer, inner, outcome } = await createAroundSavepoint(
      onNthCall("getTime", 1, { kind: "fail_before" }),
    );
    expect([outcome, await exists(outer), await exists(inner)]).toEqual(["committed", true, false]);
  });

  it("a fault of the savepoint itself spoils the whole transaction", async () => {
    const plan = onNthCall("runInTransaction", 2, { kind: "fail_after" });
    const { outer, inner, outcome } = await createAroundSavepoint(plan);
    expect(outcome).toBeInstanceOf(InjectedFaultError);
    expect([await exists(outer), await exists(inner)]).toEqual([false, false]);
  });
});

describe("a faulty notify adapter", () => {
  it("loses notifications, or only the word that they went out", async () => {
    const heard: string[] = [];
    const faulty = withFaults(createInProcessNotifyAdapter(), ({ method, nth }) => {
      if (method !== "notifyJobScheduled") return undefined;
      return nth === 1 ? { kind: "fail_before" } : { kind: "fail_after" };
    });
    await faulty.listenJobScheduled(null, (typeName) => heard.push(typeName));
    await expect(faulty.notifyJobScheduled("lost", 1)).rejects.toThrow(InjectedFaultError);
    await expect(faulty.notifyJobScheduled("heard", 1)).rejects.toThrow(InjectedFaultError);
    expect(heard).toEqual(["heard"]);
  });
});
