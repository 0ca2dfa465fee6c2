// How long finished jobs are kept, by type, and an endless chain whose jobs can be removed one by one.
import { pathToFileURL } from "node:url";
import {
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  typeOnly,
  type WorkerStartOptions,
} from "leasehold";

const hour = 3_600_000;
const day = 24 * hour;

export const main = async (
  print: (line: string) => void,
  options: WorkerStartOptions = { pruneIntervalMs: 5 },
): Promise<void> => {
  let now = Date.now();
  const stateAdapter = createInProcessStateAdapter({ clock: { now: () => now } });

  // #region retention
  const jobTypes = defineJobTypes({
    "send-mail": { input: typeOnly<{ to: string }>() },
    "poll-feed": { retention: { completedMs: hour } },
    "book-payment": { retention: { completedMs: null, failedMs: null } },
  });
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes,
    defaults: { retention: { completedMs: 7 * day, failedMs: 30 * day } },
  });
  // #endregion

  const worker = leasehold.createWorker();
  worker.implementJobType({ typeName: "send-mail", process: async () => null });
  worker.implementJobType({ typeName: "book-payment", process: async () => null });
  // #region detached
  worker.implementJobType({
    typeName: "poll-feed",
    process: async () => {
      await leasehold.startJobSequence({
        typeName: "poll-feed",
        detached: true,
        schedule: { afterMs: hour },
      });
      return null;
    },
  });
  // #endregion

  const mail = await leasehold.startJobSequence({ typeName: "send-mail", input: { to: "ada@example.com" } });
  const payment = await leasehold.startJobSequence({ typeName: "book-payment" });
  const poll = await leasehold.startJobSequence({ typeName: "poll-feed" });
  const running = await worker.start(options);
  for (const sequence of [mail, payment, poll]) await leasehold.waitForJobSequenceCompletion(sequence);

  const untilRemoved = async (id: string): Promise<void> => {
    while ((await leasehold.jobs.get({ id })) !== undefined) await new Promise((done) => setTimeout(done, 5));
  };
  now += hour + 1;
  await untilRemoved(poll.id);
  print("After an hour the first poll is gone; the next one is on its way");
  now += 7 * day;
  await untilRemoved(mail.id);
  print("After a week the mail is gone");
  const kept = await leasehold.jobs.get({ id: payment.id });
  print(`The payment is kept: ${kept?.status}`);

  await running.stop();
  await stateAdapter.close();
};

if (import.meta.url === pathToFileURL(process.argv[1]!).href) await main(console.log);
