import { readFileSync } from "node:fs";
import { startNats } from "@leasehold/test-servers";
import { createInProcessStateAdapter, defineUnionJobTypes } from "leasehold";
// #region readme
import { createNatsNotifyAdapter } from "@leasehold/nats";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { createLeasehold } from "leasehold";
// #endregion
import { expect, it, onTestFinished } from "vitest";

it("the README shows code that runs", async () => {
  const server = await startNats();
  onTestFinished(() => server.stop());
  const servers = server.url;
  const errors: unknown[] = [];
  const reportError = (error: unknown): void => void errors.push(error);
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes<{ greet: { input: string; output: string } }>();

  // #region readme
  const nc = await connect({ servers, maxReconnectAttempts: -1 });
  const kv = await new Kvm(nc).create("leasehold-hints", { ttl: 60_000 });

  const notifyAdapter = await createNatsNotifyAdapter({ nc, kv, onError: reportError });
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
  await nc.close();
  // #endregion

  expect(errors).toEqual([]);
});

it("the README shows the code above", () => {
  const source = readFileSync(import.meta.filename, "utf8");
  const regions = [...source.matchAll(/\/\/ #region readme\n([\s\S]*?)\n *\/\/ #endregion/g)];
  const shown = regions.map(([, code]) => code!.replaceAll(/^ {2}/gm, "")).join("\n\n");
  expect(readFileSync(`${import.meta.dirname}/../README.md`, "utf8")).toContain(`\`\`\`ts\n${shown}\n\`\`\``);
});
