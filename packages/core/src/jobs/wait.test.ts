import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createNoopNotifyAdapter } from "../notify/in-process.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

/** A transport that does not answer a subscription. */
const createKit = async () => {
  const notifyAdapter = {
    ...createNoopNotifyAdapter(),
    listenJobSequenceCompleted: () => new Promise<never>(() => {}),
  };
  const kit = await createTestKit({ jobTypes, notifyAdapter });
  return { ...kit, started: await kit.leasehold.startJobSequence({ typeName: "work" }) };
};

const pollIntervalMs = 3_600_000;

describe("waiting while the subscription hangs", () => {
  it("ends at its own time", async () => {
    const { leasehold, clock, started } = await createKit();
    const from = clock.monotonic();
    const waiting = leasehold.waitForJobSequenceCompletion(started, { timeoutMs: 50, pollIntervalMs });
    await expect(clock.runUntil(waiting)).rejects.toThrow("did not finish within 50 ms");
    expect(clock.monotonic() - from).toBe(50);
  });

  it.each(["before", "meanwhile"])("ends at once when its signal aborts %s", async (when) => {
    const { leasehold, clock, started } = await createKit();
    const from = clock.monotonic();
    const controller = new AbortController();
    if (when === "before") controller.abort(new Error("enough"));
    const waiting = leasehold.waitForJobSequenceCompletion(started, {
      pollIntervalMs,
      signal: controller.signal,
    });
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(clock.monotonic()).toBe(from);
  });
});
