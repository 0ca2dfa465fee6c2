import type { RunningWorker } from "../../worker/api.ts";
import { type Clock, createSystemRuntime, type Runtime } from "../../base/runtime.ts";
import type { AnyStateAdapter } from "../../store/contract/state-adapter.ts";
import { createLeasehold } from "../../leasehold.ts";
import { createDeterministicRuntime } from "../../testing/deterministic-runtime.ts";
import type { Fault } from "../../testing/fault-plans.ts";
import { withFaults } from "../../testing/faults.ts";
import type { ManualClock } from "../../testing/manual-clock.ts";
import { storyTypes } from "./job-types.ts";
import { createMortalProcess } from "./mortal-process.ts";
import { createStoryWorker, type Outside, type StoryLeasehold } from "./worker.ts";

export type ProcessName = "caller" | "worker";

/** What goes wrong: with which call of which process, and how. */
export interface Mishap {
  readonly process: ProcessName;
  /** Counted from 1, over all methods. */
  readonly nth: number;
  /** `outage`: this call and the next few fail, more than are made again without asking. */
  readonly kind: "fail_before" | "fail_after" | "hang" | "outage" | "kill_before" | "kill_after";
}

/** The processes of one telling of the story: one that calls the API, and a worker that is replaced when it dies. */
export interface Stage {
  readonly caller: StoryLeasehold;
  readonly outside: Outside;
  /** The methods each process has called, in order. */
  readonly calls: Readonly<Record<ProcessName, string[]>>;
  startWorker(): Promise<void>;
  /** Stops whichever worker is running by now. */
  stopWorker(): Promise<void>;
}

// A lease is long enough for a call that hangs and is made again, so that none is lost to that alone. A real store on a
// busy machine takes its time, and must not be taken for one that hangs.
const limitsOf = (time: "manual" | "real") =>
  time === "manual" ? { leaseMs: 1_500, storeDeadlineMs: 300 } : { leaseMs: 5_000, storeDeadlineMs: 1_200 };
const pollIntervalMs = 100;

const callsOfAnOutage = 4;

const faultOf = ({ kind }: Mishap): Fault | undefined => {
  if (kind === "outage") return { kind: "fail_before" };
  return kind === "kill_before" || kind === "kill_after" ? undefined : { kind };
};

const deathOf = ({ kind }: Mishap): "before" | "after" | undefined => {
  if (kind === "kill_before") return "before";
  return kind === "kill_after" ? "after" : undefined;
};

export const setStage = async (
  store: AnyStateAdapter,
  clock: Clock,
  manualClock: ManualClock | undefined,
  mishap: Mishap | undefined,
): Promise<Stage> => {
  const outside: Outside = { executions: [], flakyHasFailed: false, mended: false };
  const calls: Record<ProcessName, string[]> = { caller: [], worker: [] };
  let processes = 0;
  const { leaseMs, storeDeadlineMs } = limitsOf(manualClock ? "manual" : "real");
  // Only where time costs nothing.
  const slowMs = manualClock ? leaseMs + 200 : 0;

  const runtimeOf = (processClock: Clock): Runtime => {
    processes += 1;
    const base = manualClock
      ? createDeterministicRuntime({ seed: processes, clock: manualClock })
      : createSystemRuntime();
    return { ...base, clock: processClock };
  };

  const startProcess = async (name: ProcessName) => {
    const mortal = createMortalProcess(clock);
    const isDue = (): boolean => {
      if (mishap?.process !== name) return false;
      const since = calls[name].length - mishap.nth;
      return since >= 0 && since < (mishap.kind === "outage" ? callsOfAnOutage : 1);
    };
    const onCall = (method: string): "before" | "after" | undefined => {
      calls[name].push(method);
      return isDue() ? deathOf(mishap!) : undefined;
    };
    // The count is taken in front, so both see the same calls under the same numbers.
    const faulty = withFaults(store, () => (isDue() ? faultOf(mishap!) : undefined), { clock });
    const leasehold: StoryLeasehold = await createLeasehold({
      statistics: false,
      stateAdapter: mortal.connect(faulty, onCall),
      jobTypes: storyTypes,
      runtime: runtimeOf(mortal.clock),
      storeDeadlineMs,
      storeRetry: { initialDelayMs: 5 },
    });
    return { mortal, leasehold };
  };

  const { leasehold: caller } = await startProcess("caller");
  let current: { readonly died: Promise<void>; readonly running: Promise<RunningWorker> } | undefined;
  let starting: Promise<void> = Promise.resolve();
  let stopping = false;

  const startWorker = (): Promise<void> => {
    starting = (async () => {
      const { mortal, leasehold } = await startProcess("worker");
      const builder = createStoryWorker(leasehold, outside, mortal, slowMs);
      const running = builder.start({ leaseMs, pollIntervalMs, reapIntervalMs: 100, abortGraceMs: 100 });
      current = { died: mortal.died, running };
      void mortal.died.then(() => {
        if (!stopping) void startWorker();
      });
      await Promise.race([running, mortal.died]);
    })();
    return starting;
  };

  const stopWorker = async (): Promise<void> => {
    stopping = true;
    await starting;
    const stop = async (): Promise<unknown> => (await current?.running)?.stop();
    await Promise.race([stop(), current?.died]);
  };

  return { caller, outside, calls, startWorker, stopWorker };
};
