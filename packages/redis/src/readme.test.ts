import { readFileSync } from "node:fs";
import { startRedis } from "@leasehold/test-servers";
import { createInProcessStateAdapter, defineUnionJobTypes } from "leasehold";
// #region readme
import { createNodeRedisNotifyProvider, createRedisNotifyAdapter } from "@leasehold/redis";
import { createLeasehold } from "leasehold";
import { createClient } from "redis";
// #endregion
import { expect, it, onTestFinished } from "vitest";

it("the README shows code that runs", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { url } = server;
  const errors: unknown[] = [];
  const reportError = (error: unknown): void => void errors.push(error);
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<{ greet: { input: string; output: string } }>();

  // #region readme
  const client = createClient({ url });
  client.on("error", reportError);
  await client.connect();

  const notifyProvider = createNodeRedisNotifyProvider({ client });
  const notifyAdapter = await createRedisNotifyAdapter({ notifyProvider, onError: reportError });
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
  // #endregion

  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "greet", process: async ({ job }) => `Hello, ${job.input}!` })
    .start({ pollIntervalMs: 600_000 });
  const started = await leasehold.startJobSequence({ typeName: "greet", input: "Ada" });
  expect((await leasehold.waitForJobSequenceCompletion(started)).output).toBe("Hello, Ada!");
  await worker.stop();

  // #region readme
  // At the end, after the workers have stopped:
  await notifyAdapter.close();
  await client.close();
  // #endregion

  expect(errors).toEqual([]);
});

it("the README shows the code above", () => {
  const source = readFileSync(import.meta.filename, "utf8");
  const regions = [...source.matchAll(/\/\/ #region readme\n([\s\S]*?)\n *\/\/ #endregion/g)];
  const shown = regions.map(([, code]) => code!.replaceAll(/^ {2}/gm, "")).join("\n\n");
  expect(readFileSync(`${import.meta.dirname}/../README.md`, "utf8")).toContain(`\`\`\`ts\n${shown}\n\`\`\``);
});
