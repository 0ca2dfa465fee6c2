import { createAsyncScope } from "../base/async.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type { Clock } from "../base/runtime.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createManualClock, type ManualClock } from "../testing/manual-clock.ts";
import { createSeededRandom } from "../testing/seeded-random.ts";
import { createChaos } from "./chaos.ts";
import { checkHistory, type Violation } from "./check-history.ts";
import { createHistory, type HistoryEvent } from "./history.ts";
import type { LimitsDefinitions } from "./limits-job-types.ts";
import { limitsWorkload } from "./limits-workload.ts";
import type { MixedDefinitions } from "./mixed-job-types.ts";
import { mixedWorkload } from "./mixed-workload.ts";
import { drawPlan, type PlanLimits, type SimulationPlan } from "./plan.ts";
import { createRecordedStore } from "./recorded-store.ts";
import { createFleet } from "./fleet.ts";
import type { SimulationWorkload } from "./workload.ts";

/** Options of `simulate`. */
export interface SimulationOptions<TDefs> {
  /** The same seed is the same story, to the last retry. */
  readonly seed: number | string;
  /** Makes the story smaller; see `shrinkSimulation`. */
  readonly limits?: PlanLimits;
  /** Default: a mix of everything Leasehold can do; or, depending on the seed, groups and rules. */
  readonly workload?: SimulationWorkload<TDefs>;
  /**
   * Default: the in-process adapter. It must take its time from the clock and must not wait for anything but promises:
   * virtual time does not stand still for real I/O.
   */
  readonly createStateAdapter?: (clock: Pick<Clock, "now">) => AnyStateAdapter | Promise<AnyStateAdapter>;
}

/** What a simulated run has found. */
export interface SimulationResult {
  readonly plan: SimulationPlan;
  readonly events: readonly HistoryEvent[];
  /** Empty when every invariant held. */
  readonly violations: readonly Violation[];
}

/** How long draining may take before it counts as never; the checks on the way are much stricter. */
const drainLeases = 150;

/**
 * Long enough to endanger a lease. The shortest, of 250 ms and trusted for 237, must bear two round trips in a row, each
 * of which is up to 80 ms on its way (see `latencyMs`): a wait of 38 ms more, twice, is what it bears.
 */
const longWaitMs = 38;

/** Runs one seed from the first job until everything has drained, and checks what happened. */
export const simulate = async <TDefs>(options: SimulationOptions<TDefs>): Promise<SimulationResult> => {
  const { seed, limits } = options;
  const plan = drawPlan(seed, limits);
  const clock = createManualClock();
  const history = createHistory();
  const chaos = createChaos(plan, clock, createSeededRandom(`${seed}/chaos`), history);
  const given = await (options.createStateAdapter ?? defaultStateAdapter)(clock);
  const workload = options.workload ?? (drawWorkload(seed, given) as unknown as SimulationWorkload<TDefs>);
  const adapter = workload.prepareStore?.(given) ?? given;
  const store = createRecordedStore({
    adapter,
    clock,
    history,
    onWait: (process, since) => {
      if (clock.now() - since < longWaitMs) return;
      const description = "waited for another transaction";
      history.add({ kind: "fault", at: since, until: clock.now(), process, description });
    },
  });
  const fleet = createFleet({
    plan,
    clock,
    history,
    chaos,
    store,
    workload,
    notifyAdapter: createInProcessNotifyAdapter(),
    acknowledging: createAsyncScope(),
  });

  await fleet.start();
  const isDrained = (): boolean =>
    fleet.operationsUnderWay === 0 &&
    !store.isTransactionOpen &&
    // Whether a blocked job may stay so is for the checks to say.
    [...store.rows.values()].every(({ status }) => status !== "pending" && status !== "running");
  fleet.causeTrouble();
  await clock.advanceBy(plan.chaosMs);
  chaos.calm();
  fleet.calm();
  const operator = store.connect("operator");
  const keepCalm = (): void => {
    if (isDrained()) return;
    void workload.calm?.(operator);
    clock.setTimer(keepCalm, plan.leaseMs);
  };
  if (workload.calm !== undefined) keepCalm();
  const drained = await runUntil(clock, isDrained, drainLeases * plan.leaseMs);
  history.add({ kind: "end", at: clock.now(), drained });
  if (drained) await fleet.stop();
  await adapter.close();
  return { plan, events: history.events, violations: checkHistory(plan, history.events) };
};

/** Where the store can, every third seed is about groups and rules. */
const drawWorkload = (
  seed: number | string,
  { limits }: AnyStateAdapter,
): SimulationWorkload<LimitsDefinitions> | SimulationWorkload<MixedDefinitions> =>
  limits !== undefined && createSeededRandom(`${seed}/workload`).chance(1 / 3)
    ? limitsWorkload
    : mixedWorkload;

const defaultStateAdapter = (clock: Pick<Clock, "now">): AnyStateAdapter =>
  createInProcessStateAdapter({ clock });

const runUntil = async (clock: ManualClock, goal: () => boolean, maxMs: number): Promise<boolean> => {
  const deadline = clock.monotonic() + maxMs;
  await clock.runUntil(() => goal() || clock.monotonic() >= deadline, { maxMs: maxMs * 2 });
  return goal();
};
