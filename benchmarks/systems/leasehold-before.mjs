// Another checkout of Leasehold, built, driven by the benchmark that belongs to it: the API may have been another one.
import { pathToFileURL } from "node:url";

const checkout = process.env.LEASEHOLD_BENCH_BEFORE;
if (!checkout) throw new Error("leasehold-before needs --before DIRECTORY.");

export const { install, openProducer, openWorker, putRecurring, readTicks, prefill } = await import(
  pathToFileURL(`${checkout}/benchmarks/systems/leasehold.mjs`).href
);
