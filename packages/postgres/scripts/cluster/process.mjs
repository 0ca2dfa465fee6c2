// One process of this story, a worker or a producer. Its settings are its argument. It tells its parent what was acknowledged.
import { once } from "node:events";
import { setInterval } from "node:timers";
import { connect } from "./connect.mjs";
import { createStarts, implementJobs, jobsOf, openLeasehold } from "./job-types.mjs";

const settings = JSON.parse(process.argv[2]);
const { role, name, queue, queues, jobsPerSecond, leaseMs } = settings;

let news = [];
setInterval(() => {
  if (news.length > 0 && process.connected) process.send({ news });
  news = [];
}, 100).unref();
const tell = (event, id, attempt) => news.push({ event, id, attempt, at: Date.now() });

const told = {
  jobAttemptCompleted: "completed",
  jobAttemptFailed: "failed",
  jobAttemptFenced: "fenced",
  jobAttemptReleased: "released",
  jobAttemptLeaseExpired: "leaseExpired",
  jobAttemptTransactionRepeated: "repeated",
};

const connection = await connect(settings);
const leasehold = await openLeasehold(connection, ({ event, data }) => {
  if (event in told) tell(told[event], data.id, data.attempt);
  if (event === "jobAttemptFailed") tell(`failed: ${data.error?.message}`, data.id, data.attempt);
});

const work = async () => {
  const worker = await implementJobs(leasehold, connection.write).start({
    workerId: name,
    queues: { [queue]: 10 },
    leaseMs,
    reapIntervalMs: 1_000,
    // So long that the rate depends on notifications.
    pollIntervalMs: 15_000,
  });
  process.send("ready");
  await once(process, "message");
  await worker.stop();
};

const mostStartsUnderWay = 20;

const produce = async () => {
  const starts = Object.entries(createStarts(leasehold, connection.write));
  const jobsPerStart = starts.reduce((sum, [kind]) => sum + jobsOf[kind], 0) / starts.length;
  let made = 0;
  let underWay = 0;
  const startOne = async () => {
    if (underWay >= mostStartsUnderWay) return;
    const [kind, start] = starts[made % starts.length];
    // Every queue gets every kind.
    const target = queues[Math.floor(made / starts.length) % queues.length];
    made += 1;
    underWay += 1;
    try {
      tell("started", await start(target), kind);
    } catch {
      tell("notStarted");
    } finally {
      underWay -= 1;
    }
  };
  const timer = setInterval(() => void startOne(), 1_000 / (jobsPerSecond / jobsPerStart));
  process.send("ready");
  await once(process, "message");
  clearInterval(timer);
};

await (role === "worker" ? work() : produce());
await leasehold.close();
await connection.close();
if (news.length > 0) process.send({ news });
process.disconnect();
