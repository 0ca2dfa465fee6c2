import { formatCount, formatDuration } from "leasehold/adapter";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../live/sampler.ts";
import { CliError, type ExitCode, exitCodes } from "../output/exit-codes.ts";
import { createProgress } from "../output/output.ts";
import { renderTable } from "../output/table.ts";
import { formatRate } from "../output/text.ts";
import type { AnyLeasehold } from "../store/store.ts";
import { type CommandContext, confirm } from "./context.ts";
import { untilInterrupted } from "./signals.ts";

export interface BenchOptions {
  readonly jobs: number;
  readonly batch: number;
  readonly concurrency: number;
  readonly payload: number;
  readonly yes?: boolean;
}

interface Measured {
  readonly startPerSecond: number;
  readonly drainPerSecond: number;
  /** From one job's start to its completion, one after another, with nothing else to do. */
  readonly roundTripMs: { readonly p50: number; readonly p95: number };
}

interface Surroundings {
  readonly onProgress: (step: string, done: number, total: number) => void;
  readonly signal: AbortSignal;
}

const roundTrips = 30;

const startAll = async (
  leasehold: AnyLeasehold,
  typeName: string,
  options: BenchOptions,
  ids: string[],
  { onProgress, signal }: Surroundings,
): Promise<void> => {
  const input = "x".repeat(options.payload);
  while (ids.length < options.jobs) {
    const length = Math.min(options.batch, options.jobs - ids.length);
    const sequences = Array.from({ length }, () => ({ typeName, input, queue: typeName }));
    signal.throwIfAborted();
    for (const { id } of await leasehold.startJobSequences({ sequences })) ids.push(id);
    onProgress("starting", ids.length, options.jobs);
  }
};

const measureRoundTrips = async (
  leasehold: AnyLeasehold,
  typeName: string,
  ids: string[],
  { onProgress, signal }: Surroundings,
): Promise<Measured["roundTripMs"]> => {
  const times: number[] = [];
  for (let round = 1; round <= roundTrips; round += 1) {
    const began = performance.now();
    const { id } = await leasehold.startJobSequence({ typeName, input: null, queue: typeName });
    ids.push(id);
    await leasehold.waitForJobSequenceCompletion({ id, typeName, pollIntervalMs: 2, signal });
    times.push(performance.now() - began);
    onProgress("round trips", round, roundTrips);
  }
  times.sort((a, b) => a - b);
  return { p50: percentile(times, 0.5)!, p95: percentile(times, 0.95)! };
};

const measure = async (
  leasehold: AnyLeasehold,
  typeName: string,
  options: BenchOptions,
  ids: string[],
  surroundings: Surroundings,
): Promise<Measured> => {
  const { onProgress, signal } = surroundings;
  let began = performance.now();
  await startAll(leasehold, typeName, options, ids, surroundings);
  const startPerSecond = (options.jobs / (performance.now() - began)) * 1_000;

  let done = 0;
  let drained = (): void => {};
  const allDone = new Promise<void>((resolve, reject) => {
    drained = resolve;
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  // It may be over before anybody waits for it.
  allDone.catch(() => {});
  began = performance.now();
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName,
      process: async () => {
        done += 1;
        if (done === options.jobs) drained();
        if (done % 500 === 0 || done === options.jobs) onProgress("draining", done, options.jobs);
        return null;
      },
    })
    .start({
      concurrency: options.concurrency,
      queues: { [typeName]: options.concurrency },
      pollIntervalMs: 5,
    });
  try {
    await allDone;
    // The last results are on their way; what counts is that they are stored.
    while ((await leasehold.jobs.count({ queue: typeName, status: ["pending", "running"] })).length > 0) {
      await sleep(1);
    }
    const drainPerSecond = (options.jobs / (performance.now() - began)) * 1_000;
    return {
      startPerSecond,
      drainPerSecond,
      roundTripMs: await measureRoundTrips(leasehold, typeName, ids, surroundings),
    };
  } finally {
    await worker.stop();
  }
};

const deleteBatch = 1_000;

/** Starts and runs jobs of a type and queue of their own in this very store, and deletes them again. */
export const bench = async (context: CommandContext, options: BenchOptions): Promise<ExitCode> =>
  context.withStore({ notifies: true }, async ({ leasehold, label }) => {
    const { output } = context;
    await confirm(output, `Run ${formatCount(options.jobs)} jobs through ${label}, and delete them again?`, {
      yes: options.yes,
    });
    const typeName = `leasehold-bench-${randomBytes(4).toString("hex")}`;
    const ids: string[] = [];
    const progress = createProgress(output);
    let measured: Measured;
    try {
      measured = await untilInterrupted((signal) =>
        measure(leasehold, typeName, options, ids, { onProgress: progress.update, signal }),
      );
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "AbortError") throw error;
      throw new CliError("Interrupted", "Interrupted; the jobs it had started are deleted.", {
        exitCode: exitCodes.error,
      });
    } finally {
      for (let start = 0; start < ids.length; start += deleteBatch) {
        await leasehold.deleteJobSequences({ rootSequenceIds: ids.slice(start, start + deleteBatch) });
        progress.update("deleting", Math.min(ids.length, start + deleteBatch), ids.length);
      }
      progress.end();
    }
    const { jobs, batch, concurrency, payload } = options;
    if (output.json) output.printJson({ store: label, jobs, batch, concurrency, payload, ...measured });
    else {
      output.note(
        `${formatCount(jobs)} jobs, ${payload} bytes each, started ${formatCount(batch)} at a time.`,
      );
      output.print(
        renderTable(
          output,
          [{ title: "" }, { title: "", align: "right" }],
          [
            ["start", formatRate(measured.startPerSecond)],
            [`drain, ${concurrency} at once`, formatRate(measured.drainPerSecond)],
            ["round trip, p50", formatDuration(measured.roundTripMs.p50)],
            ["round trip, p95", formatDuration(measured.roundTripMs.p95)],
          ],
        ).trim(),
      );
    }
    return exitCodes.done;
  });
