// What a queue, a worker and the usual job options of other libraries look like here.
import { pathToFileURL } from "node:url";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
// #region setup
import { createLeasehold, defineJobTypes, typeOnly } from "leasehold";

const jobTypes = defineJobTypes({
  "send-mail": {
    input: typeOnly<{ to: string }>(),
    output: typeOnly<{ messageId: string }>(),
    queue: "mail",
    maxAttempts: 5,
    retry: { type: "exponential", baseMs: 1_000 },
    timeoutMs: 30_000,
    retention: { completedMs: 3_600_000, failedMs: null }, // failed jobs stay until you redrive or delete them
  },
});
// #endregion

const deliver = async (
  to: string,
  _options: { idempotencyKey: string; signal: AbortSignal },
): Promise<string> => `message for ${to}`;

export const main = async (print: (line: string) => void): Promise<void> => {
  const stateAdapter = await createSqliteStateAdapter({ file: ":memory:" }); // or createPgStateAdapter
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  await stateAdapter.provideContext(async ({ client }) => client.exec("CREATE TABLE users (email TEXT)"));

  // #region start
  const started = await leasehold.startJobSequence({
    typeName: "send-mail",
    input: { to: "ada@example.com" },
    priority: 10, // the higher number runs first
    schedule: { afterMs: 50 },
    deduplication: { key: "welcome ada@example.com" },
  });
  // #endregion

  // #region transaction
  await leasehold.runInTransaction(async (ctx) => {
    ctx.client.prepare("INSERT INTO users VALUES (?)").run("grace@example.com");
    await leasehold.startJobSequence({ ...ctx, typeName: "send-mail", input: { to: "grace@example.com" } });
  });
  // #endregion

  // #region worker
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "send-mail",
      process: async ({ job, signal }) => ({
        messageId: await deliver(job.input.to, { idempotencyKey: job.id, signal }),
      }),
    })
    .start({ concurrency: 20, queues: { mail: 5 } });
  // #endregion

  // #region wait
  const { output } = await leasehold.waitForJobSequenceCompletion(started); // { messageId: string }
  // #endregion
  print(output.messageId);

  await worker.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
