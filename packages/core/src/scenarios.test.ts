import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ScenarioFixture } from "./conformance/scenario-fixture.ts";
import { coreStories, scenarioConformance, storeStories } from "./conformance/scenario-suite.ts";
import { defineJobTypes } from "./job-types/define.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter } from "./memory/state-adapter.ts";
import type { NotifyAdapter } from "./notify/contract.ts";
import { createInProcessNotifyAdapter, createNoopNotifyAdapter } from "./notify/in-process.ts";

const inProcess = (createNotifyAdapter: () => NotifyAdapter): ScenarioFixture => ({
  create: async () => {
    const stateAdapter = createInProcessStateAdapter();
    const notifyAdapter = createNotifyAdapter();
    return {
      stateAdapter,
      notifyAdapter,
      destroy: async () => {
        await notifyAdapter.close();
        await stateAdapter.close();
      },
    };
  },
});

const runner = { describe, it, afterAll };

describe("with in-process notifications", () => {
  scenarioConformance(runner, inProcess(createInProcessNotifyAdapter), {
    only: [...storeStories, ...coreStories],
  });
});

// The stories in which a worker or a caller waits for a change that only a poll can find.
describe("by polling alone", () => {
  scenarioConformance(runner, inProcess(createNoopNotifyAdapter), {
    only: [
      "notifications",
      "waiting",
      "scheduling",
      "recurring jobs",
      "continuations",
      "blockers",
      "workerless completion",
      "queues",
      "groups and limits",
      "jobs that wait",
      "cancellation",
      "cancellation of children",
      "stopping",
    ],
  });
});

// The stories themselves depend on no library; this one shows that a schema of a real one goes the whole way.
it("validates with a zod schema at start and at claim", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineJobTypes({
    greet: { input: z.object({ name: z.string().min(1).default("world") }), output: z.string().max(20) },
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "greet", process: async ({ job }) => `Hello ${job.input.name}` })
    .start({ pollIntervalMs: 10 });

  await expect(leasehold.startJobSequence({ typeName: "greet", input: { name: "" } })).rejects.toMatchObject({
    code: "SchemaValidation",
    part: "input",
    issues: [{ path: "input.name" }],
  });
  expect(await leasehold.jobs.count()).toEqual([]);
  const greeted = await leasehold.startJobSequence({ typeName: "greet", input: {} });
  expect((await leasehold.waitForJobSequenceCompletion(greeted)).output).toBe("Hello world");
  const name = "whoever reads this far";
  const tooLong = await leasehold.startJobSequence({ typeName: "greet", input: { name }, maxAttempts: 1 });
  await expect(leasehold.waitForJobSequenceCompletion(tooLong)).rejects.toMatchObject({
    reason: "attempts_exhausted",
    cause: { name: "SchemaValidationError" },
  });
  await worker.stop();
});
