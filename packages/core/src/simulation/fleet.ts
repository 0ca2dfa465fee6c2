import type { AsyncScope } from "../base/async.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import type { ManualClock } from "../testing/manual-clock.ts";
import { createSeededRandom, type SeededRandom } from "../testing/seeded-random.ts";
import type { Chaos } from "./chaos.ts";
import { type FleetProcess, startProcess } from "./fleet-process.ts";
import type { History } from "./history.ts";
import type { SimulationPlan } from "./plan.ts";
import type { RecordedStore } from "./recorded-store.ts";
import type { SimulationWorkload } from "./workload.ts";

export interface FleetOptions<TDefs> {
  readonly plan: SimulationPlan;
  readonly clock: ManualClock;
  readonly history: History;
  readonly chaos: Chaos;
  readonly store: RecordedStore;
  readonly workload: SimulationWorkload<TDefs>;
  readonly notifyAdapter: NotifyAdapter;
  /** The sequences started so far in the call or transaction around the running code. */
  readonly acknowledging: AsyncScope<string[]>;
}

/** All processes of a simulation, its workload and its faults. */
export interface Fleet {
  start(): Promise<void>;
  /** Sets the timers of everything that is to happen, good and bad. */
  causeTrouble(): void;
  /** Wakes paused processes. */
  calm(): void;
  /** Stops all workers in good order. */
  stop(): Promise<void>;
  readonly operationsUnderWay: number;
}

export const createFleet = <TDefs>(options: FleetOptions<TDefs>): Fleet => {
  const { plan, clock, history, chaos, store, workload } = options;
  const { leaseMs, chaosMs, seed } = plan;
  const random = createSeededRandom(`${seed}/fleet`);
  const processes = new Map<number, FleetProcess<TDefs>>();
  const operations = new Set<FleetProcess<TDefs>[]>();
  let generation = 0;

  /** A supervisor: whenever the process dies, another takes its place. */
  const spawn = async (place: number): Promise<void> => {
    generation += 1;
    const fleetProcess = await startProcess({
      ...options,
      name: `p${place}.${generation}`,
      onDeath: () => clock.setTimer(() => void spawn(place), random.next() * leaseMs),
    });
    processes.set(place, fleetProcess);
  };

  const pickLiving = (): FleetProcess<TDefs> | undefined => {
    const living = [...processes.values()].filter(({ process }) => !process.isDead);
    return living.length === 0 ? undefined : random.pick(living);
  };

  // A stream of its own for each operation: leaving one out changes as little as possible for the others.
  const operate = async (operationRandom: SeededRandom): Promise<void> => {
    const living = pickLiving();
    if (!living) return;
    const entry = [living];
    operations.add(entry);
    try {
      await workload.operate(living.leasehold, {
        plan,
        process: living.simulated,
        random: operationRandom,
        store: store.connect(living.process.name),
        jobs: () => [...store.rows.values()],
      });
    } catch {
      // Callers see errors of all kinds while things go wrong; what counts is what the store then holds.
    } finally {
      operations.delete(entry);
    }
  };

  const sometime = (action: () => void): void => {
    clock.setTimer(action, random.next() * chaosMs);
  };

  const disturb = (
    kind: "kill" | "pause" | "clock_step",
    harm: (target: FleetProcess<TDefs>) => void,
  ): void => {
    const strength = chaos.strengthOf(kind);
    const times = strength === 0 ? 0 : random.integer(1, Math.ceil(strength * 4));
    for (let time = 0; time < times; time += 1) {
      sometime(() => {
        const target = pickLiving();
        if (target && chaos.strengthOf(kind) > 0) harm(target);
      });
    }
  };

  return {
    start: async () => {
      for (let place = 1; place <= plan.processes; place += 1) await spawn(place);
    },
    causeTrouble: () => {
      const moments = Array.from({ length: plan.operations }, (_, index) => {
        const operationRandom = createSeededRandom(`${seed}/operation ${index}`);
        const moment = operationRandom.next() * chaosMs;
        clock.setTimer(() => void operate(operationRandom), moment);
        return moment;
      });
      // Right after an operation, because a worker with nothing to do is easily stopped.
      for (let index = 0; index < plan.restarts; index += 1) {
        const moment = random.pick(moments) + random.next() * 60;
        clock.setTimer(() => void pickLiving()?.restartWorker(), moment);
      }
      disturb("kill", ({ kill }) => kill("out of the blue"));
      disturb("pause", ({ process }) => {
        const forMs = random.next() * 3 * leaseMs;
        chaos.note(process.name, `paused for ${Math.ceil(forMs)} ms`, forMs);
        process.pause(forMs);
      });
      disturb("clock_step", ({ process }) => process.stepWallClock(random.integer(-3_600_000, 3_600_000)));
    },
    calm: () => {
      for (const { process } of processes.values()) process.resume();
    },
    stop: async () => {
      try {
        const living = [...processes.values()].filter(({ process }) => !process.isDead);
        await clock.runUntil(Promise.all(living.map((fleetProcess) => fleetProcess.stop())), {
          maxMs: 20 * leaseMs,
        });
      } catch (error) {
        history.add({
          kind: "anomaly",
          at: clock.now(),
          description: `the workers do not stop: ${String(error)}`,
        });
      }
    },
    get operationsUnderWay() {
      return [...operations].filter(([living]) => !living!.process.isDead).length;
    },
  };
};
