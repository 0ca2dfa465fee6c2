import type { Leasehold } from "../leasehold-api.ts";
import type { RunningWorker, WorkerStartOptions } from "../worker/api.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import type { AnyStateAdapter, StateAdapter } from "../store/contract/state-adapter.ts";
import { InvalidOptionError, LeaseholdError } from "../base/errors.ts";
import type { Runtime } from "../base/runtime.ts";
import type { LeaseholdOptions } from "../create-engine.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "../memory/state-adapter.ts";
import { createDeterministicRuntime } from "./deterministic-runtime.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";
import { describeUnfinished, isIdleFor, watchClaims } from "./idle-workers.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { createCallWatch, onClock } from "./store-on-clock.ts";
import { withContext } from "./with-context.ts";

/** Anything that can be started as a worker: what `createWorker().implementJobType(…)` returns. */
export interface StartableWorker {
  start(options?: WorkerStartOptions): Promise<RunningWorker>;
}

/** Options of `createTestKit`. */
export type TestKitOptions<TDefs, TStateAdapter extends AnyStateAdapter = InProcessStateAdapter> = Omit<
  LeaseholdOptions<TDefs, TStateAdapter>,
  "stateAdapter" | "runtime"
> & {
  /** Ids, tokens and jitter follow from it. Default: 1. */
  readonly seed?: number | string;
  /** Wraps the store, for instance in `withFaults`. */
  readonly wrapStateAdapter?: (adapter: TStateAdapter) => TStateAdapter;
};

/** A store of your own instead of the in-process one, on the kit's clock. */
export interface StoreOption<TStateAdapter extends AnyStateAdapter> {
  /** Empty, and used by this kit alone. Closing it is up to you. */
  readonly stateAdapter: TStateAdapter;
  /**
   * For how long, in real milliseconds, nothing must have happened before time passes on the clock: what handlers ask the
   * database themselves, the clock does not see. 0, the default, will do for one that answers at once, like SQLite.
   */
  readonly quietMs?: number;
  readonly context?: undefined;
}

/** The in-process store with a context of your own. */
export interface ContextOption<TContext extends object> {
  /**
   * What handlers get from `prepare`, `complete` and `runInTransaction`, for instance a stand-in for a transaction of your
   * database. What is done with it is not rolled back.
   */
  readonly context: TContext;
  readonly stateAdapter?: undefined;
}

/** Job types in a time of their own: a day of retries takes milliseconds, and every run is the same. */
export interface TestKit<TDefs, TStateAdapter extends AnyStateAdapter = InProcessStateAdapter> {
  readonly leasehold: Leasehold<TDefs, TStateAdapter>;
  readonly stateAdapter: TStateAdapter;
  readonly notifyAdapter: NotifyAdapter;
  readonly clock: ManualClock;
  /**
   * Runs one or more workers until nothing is left for them: none of their jobs runs, and none can be claimed now. Jobs
   * scheduled for later, retries too, stay as they are, and so do throttled jobs and jobs of types that these workers do not
   * implement.
   */
  drain(workers: StartableWorker | readonly StartableWorker[], options?: WorkerStartOptions): Promise<void>;
  /** Lets this much time pass with the workers running, and drains what has come due by then. */
  advance(
    workers: StartableWorker | readonly StartableWorker[],
    ms: number,
    options?: WorkerStartOptions,
  ): Promise<void>;
}

// Polling a real store costs real time, and notifications and due times wake the worker without it.
const calmly = { pollIntervalMs: 600_000, reapIntervalMs: 600_000 } as const satisfies WorkerStartOptions;

interface AnyOptions extends TestKitOptions<unknown, AnyStateAdapter> {
  readonly stateAdapter?: AnyStateAdapter;
  readonly context?: object;
  readonly quietMs?: number;
}

/** Leasehold in memory with a clock that a test moves by hand. */
export async function createTestKit<TDefs, TStateAdapter extends AnyStateAdapter>(
  options: TestKitOptions<TDefs, TStateAdapter> & StoreOption<TStateAdapter>,
): Promise<TestKit<TDefs, TStateAdapter>>;
/** Leasehold in memory with a clock that a test moves by hand. */
export async function createTestKit<TDefs, TContext extends object>(
  options: TestKitOptions<TDefs, StateAdapter<TContext, TContext>> & ContextOption<TContext>,
): Promise<TestKit<TDefs, StateAdapter<TContext, TContext>>>;
/** Leasehold in memory with a clock that a test moves by hand. */
export async function createTestKit<TDefs>(options: TestKitOptions<TDefs>): Promise<TestKit<TDefs>>;
/** Leasehold in memory with a clock that a test moves by hand. */
export async function createTestKit(passed: object): Promise<TestKit<unknown, AnyStateAdapter>> {
  const {
    seed = 1,
    wrapStateAdapter = (adapter) => adapter,
    stateAdapter: given,
    context,
    quietMs = 0,
    ...options
  } = passed as AnyOptions;
  if (given && context) throw new InvalidOptionError("context", "goes with the in-process store only");
  const calls = createCallWatch(quietMs);
  const clock = createManualClock(given ? { beforeTimePasses: calls.settled } : {});
  const deterministic = createDeterministicRuntime({ seed, clock });
  const runtime: Runtime = {
    ...deterministic,
    // A real store replies in any order. A retry must not depend on what else was drawn before it.
    random: (key) =>
      key === undefined ? deterministic.random() : createSeededRandom(`${seed}/random/${key}`).next(),
  };
  const inProcess = createInProcessStateAdapter({ clock });
  const store: AnyStateAdapter = given ?? (context ? withContext(inProcess, context) : inProcess);
  const claims = watchClaims(given ? onClock(given, clock, calls) : store);
  const stateAdapter = wrapStateAdapter(claims.stateAdapter);
  const notifyAdapter = options.notifyAdapter ?? createInProcessNotifyAdapter();
  const leasehold = await createLeasehold({
    statistics: false,
    ...options,
    stateAdapter,
    notifyAdapter,
    runtime,
  });

  const untilIdle = (running: readonly RunningWorker[]): Promise<void> =>
    clock.runUntil(() => calls.openTransactions === 0 && isIdleFor(running, claims, store, clock));

  /** An error of the clock, with the jobs that the workers could not finish. */
  const withUnfinished = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof Error) || error instanceof LeaseholdError) return error;
    const unfinished = await describeUnfinished(claims, store, clock);
    return new Error(`The workers did not become idle. ${error.message}${unfinished}`, { cause: error });
  };

  const stopAll = async (running: readonly RunningWorker[]): Promise<void> => {
    await clock.runUntil(Promise.all(running.map((worker) => worker.stop())));
  };

  const withWorkers = async (
    workers: StartableWorker | readonly StartableWorker[],
    startOptions: WorkerStartOptions | undefined,
    use: (running: readonly RunningWorker[]) => Promise<void>,
  ): Promise<void> => {
    const running: RunningWorker[] = [];
    try {
      for (const worker of [workers].flat())
        running.push(
          await clock.runUntil(worker.start(given ? { ...calmly, ...startOptions } : startOptions)),
        );
      await use(running);
    } catch (error) {
      const described = await withUnfinished(error);
      await stopAll(running).catch(() => {});
      throw described;
    }
    await stopAll(running);
  };

  return {
    leasehold,
    stateAdapter,
    notifyAdapter,
    clock,
    drain: (workers, startOptions) => withWorkers(workers, startOptions, untilIdle),
    advance: (workers, ms, startOptions) =>
      withWorkers(workers, startOptions, async (running) => {
        await clock.advanceBy(ms);
        await untilIdle(running);
      }),
  };
}
