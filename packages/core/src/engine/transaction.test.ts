import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

describe("the transaction around a call", () => {
  it("is not used by work left over from a callback once it has ended", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    let startLater: (() => Promise<unknown>) | undefined;
    let release: (() => void) | undefined;
    const leftOver = await leasehold.runInTransaction(async () => {
      const gate = new Promise<void>((resolve) => (release = resolve));
      startLater = async () => {
        await gate;
        return leasehold.startJobSequence({ typeName: "work" });
      };
      return { started: startLater() };
    });
    release!();
    await leftOver.started;
    expect(await leasehold.jobs.count()).toMatchObject([{ count: 1 }]);
  });

  it("takes calls along when it rolls back, though no context was passed", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    const failed = leasehold.runInTransaction(async () => {
      await leasehold.startJobSequence({ typeName: "work" });
      throw new Error("changed my mind");
    });
    await expect(failed).rejects.toThrow("changed my mind");
    expect(await leasehold.jobs.count()).toEqual([]);
  });

  it.each(["commits", "rolls back"])(
    "does not get what work left over from it announces once it %s",
    async (ending) => {
      const created: string[] = [];
      const observabilityAdapter = {
        jobCreated: ({ typeName }: { typeName: string }) => created.push(typeName),
      };
      const { leasehold, stateAdapter } = await createTestKit({ jobTypes, observabilityAdapter });
      const gate = createDeferred<void>();
      let leftOver: Promise<unknown> | undefined;
      const transaction = leasehold.runInTransaction(async () => {
        leftOver = gate.promise.then(() =>
          leasehold.withNotify(() =>
            stateAdapter.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, typeName: "work" })),
          ),
        );
        if (ending === "rolls back") throw new Error("changed my mind");
      });
      await transaction.catch(() => {});
      gate.resolve();
      await leftOver;
      expect(created).toEqual(["work"]);
    },
  );
});
