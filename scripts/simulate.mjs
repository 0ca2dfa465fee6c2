// Simulates many seeds, on every core: `npm run simulate -- --seeds 10000 --from 1`. Seeds that fail are shrunk and told
// as timelines. `--cores 1` leaves the others alone, `--keep-going` does not end at the first seed that fails.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { formatTimeline, shrinkSimulation, simulate } from "../packages/core/dist/testing.js";

const seedsPerRound = 100;
const progressEveryMs = 5_000;

/** What to print about a seed; undefined for one that holds every invariant. */
const describeFailure = async (seed) => {
  const { violations } = await simulate({ seed });
  if (violations.length === 0) return undefined;
  const lines = violations.slice(0, 10).map(({ invariant, message }) => `  ${invariant}: ${message}`);
  const story = formatTimeline(await shrinkSimulation({ seed }));
  return `Seed ${seed} fails:\n${lines.join("\n")}\n\nThe smallest story found:\n\n${story}\n`;
};

/* oxlint-disable unicorn/require-post-message-target-origin -- threads are no windows */

const simulateRound = async ({ from, to }) => {
  const failures = [];
  for (let seed = from; seed < to; seed += 1) {
    const text = await describeFailure(seed);
    if (text !== undefined) failures.push({ seed, text });
  }
  parentPort.postMessage({ seeds: to - from, failures });
};

const parseOptions = () => {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1000" },
      from: { type: "string", default: "1" },
      cores: { type: "string", default: String(availableParallelism()) },
      "keep-going": { type: "boolean", default: false },
      /** Tells the story of each seed whether it fails or not, and as it is. */
      show: { type: "boolean", default: false },
    },
  });
  const [from, count, cores] = [values.from, values.seeds, values.cores].map(Number);
  if (![from, count, cores].every(Number.isSafeInteger) || count < 1 || cores < 1) {
    console.error("--seeds, --from and --cores take whole numbers.");
    process.exit(2);
  }
  return { from, count, cores, keepGoing: values["keep-going"], show: values.show };
};

/** Rewrites its line on a terminal, adds one elsewhere. */
const createProgress = (count) => {
  const startedAt = performance.now();
  let printedAt = startedAt;
  const summary = (done) => {
    const seconds = (performance.now() - startedAt) / 1_000;
    return `${seconds.toFixed(0)} s, ${(done / seconds).toFixed(0)} seeds/s`;
  };
  const print = (done, failed) => {
    if (performance.now() - printedAt < progressEveryMs) return;
    printedAt = performance.now();
    const line = `${done} of ${count} seeds, ${failed} failed, ${summary(done)}`;
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  };
  const clear = () => process.stderr.isTTY && process.stderr.write("\r\x1b[K");
  return { print, clear, summary };
};

const simulateAll = async ({ from, count, cores, keepGoing }) => {
  const progress = createProgress(count);
  const end = from + count;
  const failed = [];
  let next = from;
  let done = 0;

  const runOnOneCore = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url));
      const goOn = () => {
        if (next >= end || (failed.length > 0 && !keepGoing)) {
          resolve(worker.terminate());
          return;
        }
        const to = Math.min(end, next + seedsPerRound);
        worker.postMessage({ from: next, to });
        next = to;
      };
      worker.on("error", reject);
      worker.on("message", ({ seeds, failures }) => {
        done += seeds;
        for (const { seed, text } of failures) {
          failed.push(seed);
          progress.clear();
          console.log(text);
        }
        progress.print(done, failed.length);
        goOn();
      });
      goOn();
    });

  await Promise.all(
    Array.from({ length: Math.min(cores, Math.ceil(count / seedsPerRound)) }, () => runOnOneCore()),
  );
  progress.clear();
  const outcome =
    failed.length > 0 ? `${failed.length} failed (${failed.join(", ")})` : "all hold every invariant";
  console.log(`${done} seeds from ${from}: ${outcome}. ${progress.summary(done)}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
};

if (!isMainThread) parentPort.on("message", (round) => void simulateRound(round));
else {
  const options = parseOptions();
  if (options.show) {
    for (let seed = options.from; seed < options.from + options.count; seed += 1)
      console.log(formatTimeline(await simulate({ seed })));
  } else await simulateAll(options);
}
