import { expect, it } from "vitest";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter } from "./memory/state-adapter.ts";
import { defineUnionJobTypes } from "./model/job-types.ts";
import type { DefineBlocker, DefineContinuationOutput, DefineContinuationInput } from "./model/job-type-markers.ts";
import { createConsoleLog } from "./contracts/log.ts";

it("works", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<{
    add: { input: { a: number; b: number }; output: number };
    first: { input: { n: number }; output: DefineContinuationOutput<"second"> };
    second: { input: DefineContinuationInput<{ n: number }>; output: { result: number } };
    main: { input: null; output: string; blockers: [DefineBlocker<"add">, DefineBlocker<"first">] };
    flaky: { input: null; output: string };
  }>();
  const lh = await createLeasehold({ stateAdapter, jobTypes, log: createConsoleLog() });
  let tries = 0;
  const worker = await lh
    .createWorker()
    .implementJobType({ typeName: "add", process: async ({ job }) => job.input.a + job.input.b })
    .implementJobType({
      typeName: "first",
      process: async ({ job, complete }) =>
        complete(async ({ continueWith }) => continueWith({ typeName: "second", input: { n: job.input.n + 1 } })),
    })
    .implementJobType({ typeName: "second", process: async ({ job, complete }) => complete(async () => ({ result: job.input.n * 2 })) })
    .implementJobType({ typeName: "main", process: async ({ job }) => `${job.blockers[0].output} ${job.blockers[1].output.result}` })
    .implementJobType({ typeName: "flaky", retry: { type: "fixed", delayMs: 5 }, process: async () => { if (++tries < 3) throw new Error("no"); return "ok"; } })
    .start({ workerId: "w1", pollIntervalMs: 20 });
  const s = await lh.startJobSequence({ typeName: "add", input: { a: 1, b: 2 } });
  const done = await lh.waitForJobSequenceCompletion(s);
  expect(done.output).toBe(3);
  const m = await lh.startJobSequence({
    typeName: "main",
    input: null,
    startBlockers: async () => [
      await lh.startJobSequence({ typeName: "add", input: { a: 1, b: 5 } }),
      await lh.startJobSequence({ typeName: "first", input: { n: 4 } }),
    ],
  });
  expect((await lh.waitForJobSequenceCompletion(m)).output).toBe("6 10");
  const f = await lh.startJobSequence({ typeName: "flaky", input: null });
  expect((await lh.waitForJobSequenceCompletion(f)).output).toBe("ok");
  console.log(await worker.stop());
});
