import type { Leasehold } from "../api.ts";
import type { RunningWorker, WorkerStartOptions } from "../api/worker.ts";
import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { createLeasehold, type LeaseholdOptions } from "../leasehold.ts";
import { createInProcessNotifyAdapter } from "../memory/notify-adapter.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "../memory/state-adapter.ts";
import { createDeterministicRuntime } from "./deterministic-runtime.ts";
import type { ManualClock } from "./manual-clock.ts";

/** Anything that can be started as a worker: what `createWorker().implementJobType(…)` returns. */
export interface StartableWorker {
  start(options?: WorkerStartOptions): Promise<RunningWorker>;
}

export type TestBenchOptions<TDefs> = Omit<
  LeaseholdOptions<TDefs, InProcessStateAdapter>,
  "stateAdapter" | "runtime"
> & {
  /** Ids, tokens and jitter follow from it. Default: 1. */
  readonly seed?: number | string;
  /** Wraps the store, for instance in `withFaults`. */
  readonly wrapStateAdapter?: (adapter: InProcessStateAdapter) => InProcessStateAdapter;
};

/** Job types in memory and in a time of their own: a day of retries takes milliseconds, and every run is the same. */
export interface TestBench<TDefs> {
  readonly leasehold: Leasehold<TDefs, InProcessStateAdapter>;
  readonly stateAdapter: InProcessStateAdapter;
  readonly notifyAdapter: NotifyAdapter;
  readonly clock: ManualClock;
  /** Runs a worker until no job is runnable or running. Jobs scheduled for later, retries too, stay where they are. */
  drain(worker: StartableWorker, options?: WorkerStartOptions): Promise<void>;
  /** Lets this much time pass with a worker running, and drains what has come due by then. */
  advance(worker: StartableWorker, ms: number, options?: WorkerStartOptions): Promise<void>;
}

export const createTestBench = async <TDefs>({
  seed = 1,
  wrapStateAdapter = (adapter) => adapter,
  ...options
}: TestBenchOptions<TDefs>): Promise<TestBench<TDefs>> => {
  const runtime = createDeterministicRuntime({ seed });
  const { clock } = runtime;
  const store = createInProcessStateAdapter({ clock });
  const stateAdapter = wrapStateAdapter(store);
  const notifyAdapter = options.notifyAdapter ?? createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({ ...options, stateAdapter, notifyAdapter, runtime });

  const isIdle = async (): Promise<boolean> => {
    const { jobs } = await store.listJobs({
      filter: { statuses: ["pending", "running"] },
      order: "oldest",
      limit: Number.MAX_SAFE_INTEGER,
      after: null,
    });
    return jobs.every(({ status, scheduledAt }) => status === "pending" && scheduledAt > clock.now());
  };

  const withWorker = async (
    worker: StartableWorker,
    startOptions: WorkerStartOptions | undefined,
    use: () => Promise<void>,
  ): Promise<void> => {
    const running = await clock.runUntil(worker.start(startOptions));
    try {
      await use();
    } finally {
      await clock.runUntil(running.stop());
    }
  };

  return {
    leasehold,
    stateAdapter,
    notifyAdapter,
    clock,
    drain: (worker, startOptions) => withWorker(worker, startOptions, () => clock.runUntil(isIdle)),
    advance: (worker, ms, startOptions) =>
      withWorker(worker, startOptions, async () => {
        await clock.advanceBy(ms);
        await clock.runUntil(isIdle);
      }),
  };
};
