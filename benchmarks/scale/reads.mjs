// What operators look at: the calls, and the commands with all that they do, in a process of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("../../packages/cli/bin/leasehold.js", import.meta.url));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const time = async (work) => {
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return median(times);
};

const run = async (url, ...args) => {
  const child = spawn(process.execPath, [command, ...args, "--store", url], { stdio: "ignore" });
  const [code] = await once(child, "exit");
  // 5 is bad news, which is an answer.
  if (code !== 0 && code !== 5) throw new Error(`leasehold ${args.join(" ")} ended with ${code}`);
};

/** @returns {Promise<{ what: string, ms: number }[]>} */
export const measureReads = async (leasehold, { stateAdapter, url }) => {
  const reads = {
    "measureBacklog, cap 10,000": () => stateAdapter.statistics.measureBacklog({ cap: 10_000 }),
    "measureBacklog, cap 100,000": () => stateAdapter.statistics.measureBacklog({ cap: 100_000 }),
    listRecentlyFinished: () =>
      stateAdapter.statistics.listRecentlyFinished({ from: Date.now() - 300_000, limit: 5_000 }),
    "listJobs, newest": () => leasehold.jobs.list(),
    "listJobs, oldest": () => leasehold.jobs.list({ order: "oldest" }),
    "listJobs, pending": () => leasehold.jobs.list({ status: "pending" }),
    "listJobs, failed": () => leasehold.jobs.list({ status: "failed" }),
    "listJobs, of a type that is not there": () => leasehold.jobs.list({ typeName: "none" }),
    "leasehold --version": () => run(url, "--version"),
    "leasehold stats": () => run(url, "stats"),
    "leasehold top, one frame": () => run(url, "top", "--count", "1"),
    "leasehold doctor": () => run(url, "doctor"),
    "leasehold list": () => run(url, "list"),
  };
  const measured = [];
  for (const [what, work] of Object.entries(reads)) measured.push({ what, ms: await time(work) });
  return measured;
};
