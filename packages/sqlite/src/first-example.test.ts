import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createSqliteStateAdapter } from "./state-adapter.ts";
import { createTestFolder } from "./testing/store.ts";

// On a quiet machine it is a few milliseconds. The bound leaves room for a busy one, and none for polling.
const limitMs = 250;

it("a job started as in the first example reaches its handler without waiting for a poll", async () => {
  const folder = await createTestFolder();
  const jobTypes = defineUnionJobTypes<{ charge: { input: { sentAt: number }; output: number } }>();
  const stateAdapter = await createSqliteStateAdapter({ file: join(folder, "jobs.db") });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  await stateAdapter.provideContext(async ({ client }) => {
    client.exec("CREATE TABLE orders (sent_at REAL)");
  });
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job }) => performance.now() - job.input.sentAt,
    })
    .start();
  const latencies: number[] = [];
  for (let n = 0; n < 15; n += 1) {
    const input = { sentAt: performance.now() };
    const started = await leasehold.runInTransaction(async (ctx) => {
      ctx.client.prepare("INSERT INTO orders VALUES (?)").run(input.sentAt);
      return leasehold.startJobSequence({ ...ctx, typeName: "charge", input });
    });
    latencies.push((await leasehold.waitForJobSequenceCompletion(started)).output);
  }
  await worker.stop();
  await stateAdapter.close();
  await rm(folder, { recursive: true });
  const [median] = latencies.sort((a, b) => a - b).slice(7);
  expect(median).toBeLessThan(limitMs);
});
