import type { SeededRandom } from "../testing/seeded-random.ts";

/** What can go wrong. A seed picks some of these, each with a strength of its own. */
export const faultKinds = [
  /** Store calls fail and have done nothing. */
  "error_before",
  /** Store calls take effect and their reply is lost. */
  "error_after",
  /** Store calls are never answered. */
  "hang",
  /** Store calls arrive up to five leases late. */
  "delay",
  /** A process dies between any two awaits. */
  "kill",
  /** A process stops for up to three leases and goes on. */
  "pause",
  /** A process's wall clock jumps by up to an hour, back or forth. */
  "clock_step",
  /** Notifications are lost, doubled, late, forged, or fail. */
  "hints",
  /** The store is unreachable for all processes for a while. */
  "store_down",
  /** The store takes no writes for a while. */
  "read_only",
  /** Writes of several rows fail as victims of deadlocks for a while. */
  "deadlocks",
  /** Jobs that take their process down. */
  "poison",
  /** Handlers that block their process past the lease. */
  "blocking_handlers",
  /** Handlers that never settle or ignore their signal. */
  "stuck_handlers",
  /** Handlers that fail in every way there is. */
  "failing_handlers",
] as const;

/** A kind of fault that a simulation can inject. */
export type SimulationFault = (typeof faultKinds)[number];

/** Strengths from 0 (excluded) to 1. */
export type FaultStrengths = Readonly<Partial<Record<SimulationFault, number>>>;

const shares = [0.08, 0.25, 0.5] as const;

/** One kind alone shows what several together would excuse, so some seeds have but one. */
export const drawFaults = (random: SeededRandom): FaultStrengths => {
  const strength = (): number => random.pick([0.3, 0.6, 1]);
  if (random.chance(0.2)) return { [random.pick(faultKinds)]: strength() };
  const share = random.pick(shares);
  return Object.fromEntries(faultKinds.flatMap((kind) => (random.chance(share) ? [[kind, strength()]] : [])));
};
