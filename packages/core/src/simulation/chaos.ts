import type { ManualClock } from "../testing/manual-clock.ts";
import type { Fault } from "../testing/fault-plans.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import type { SimulationFault } from "./faults.ts";
import type { History } from "./history.ts";
import type { SimulationPlan } from "./plan.ts";
import type { VirtualProcess } from "./virtual-process.ts";

/** Decides what goes wrong and when, and writes down every time it does. */
export interface Chaos {
  /** Everything works from here on. */
  calm(): void;
  readonly isCalm: boolean;
  /** 0 when the seed excludes this kind, or everything is calm. */
  strengthOf(kind: SimulationFault): number;
  /** What goes wrong with this store call. */
  onStoreCall(process: VirtualProcess, method: string): Fault | undefined;
  /** Whether the process dies right before or after the call it is making. */
  killsAtCall(): boolean;
  note(process: string | null, description: string, forMs?: number): void;
}

const multiRowWrites: ReadonlySet<string> = new Set([
  "commitOutcomes",
  "renewLeases",
  "createJobs",
  "cancelSequences",
  "redriveJobs",
]);
const reads: ReadonlySet<string> = new Set([
  "getTime",
  "nextRunnableIn",
  "getJobs",
  "getSequences",
  "listJobs",
  "getBlockers",
  "listBlockedJobs",
  "countJobs",
  "countAhead",
]);

const weatherKinds = ["store_down", "read_only", "deadlocks"] as const;
type Weather = (typeof weatherKinds)[number];

// At full strength, of all calls.
const callRate = 0.12;
const killRate = 0.01;

export const createChaos = (
  plan: SimulationPlan,
  clock: ManualClock,
  random: SeededRandom,
  history: History,
): Chaos => {
  const { leaseMs } = plan;
  let isCalm = false;
  let weather: Weather | undefined;

  const strengthOf = (kind: SimulationFault): number => (isCalm ? 0 : (plan.faults[kind] ?? 0));

  const note = (process: string | null, description: string, forMs = 0): void =>
    history.add({ kind: "fault", at: clock.now(), until: clock.now() + forMs, process, description });

  for (const kind of weatherKinds) {
    if (strengthOf(kind) === 0) continue;
    const spells = random.integer(1, 2);
    for (let spell = 0; spell < spells; spell += 1) {
      const forMs = Math.ceil(random.next() * 2 * leaseMs);
      clock.setTimer(() => {
        if (isCalm || weather !== undefined) return;
        weather = kind;
        // Deadlocks hit single calls; each is noted separately.
        note(null, kind, kind === "deadlocks" ? 0 : forMs);
        clock.setTimer(() => (weather = undefined), forMs);
      }, random.next() * plan.chaosMs);
    }
  }

  const weatherFault = (method: string): Fault | undefined => {
    if (weather === "store_down") return { kind: "fail_before" };
    if (weather === "read_only" && !reads.has(method)) return { kind: "fail_before" };
    if (weather === "deadlocks" && multiRowWrites.has(method) && random.chance(0.5))
      return { kind: "fail_before" };
    return undefined;
  };

  const drawFault = (): Fault | undefined => {
    const happens = (kind: SimulationFault): boolean => {
      const strength = strengthOf(kind);
      return strength > 0 && random.chance(strength * callRate);
    };
    if (happens("error_before")) return { kind: "fail_before" };
    if (happens("error_after")) return { kind: "fail_after" };
    if (happens("hang")) return { kind: "hang" };
    if (happens("delay")) return { kind: "delay", ms: Math.ceil(random.next() ** 2 * 5 * leaseMs) };
    return undefined;
  };

  return {
    calm: () => {
      isCalm = true;
      weather = undefined;
      history.add({ kind: "calm", at: clock.now() });
    },
    get isCalm() {
      return isCalm;
    },
    strengthOf,
    onStoreCall: (process, method) => {
      if (isCalm || method === "close") return undefined;
      const fault = weatherFault(method) ?? drawFault();
      if (fault === undefined) return undefined;
      const forMs = fault.kind === "delay" ? fault.ms : fault.kind === "hang" ? plan.storeDeadlineMs : 0;
      note(process.name, `${method}: ${fault.kind}${forMs > 0 ? ` ${forMs} ms` : ""}`, forMs);
      return fault;
    },
    killsAtCall: () => {
      const strength = strengthOf("kill");
      return strength > 0 && random.chance(strength * killRate);
    },
    note,
  };
};
