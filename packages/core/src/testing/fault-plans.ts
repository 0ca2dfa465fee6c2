import type { SeededRandom } from "./seeded-random.ts";

/** What goes wrong with one call. `error` stands in for `InjectedFaultError`. */
export type Fault =
  /** The call fails and has done nothing. */
  | { readonly kind: "fail_before"; readonly error?: unknown }
  /** The call takes effect, but its reply is lost. */
  | { readonly kind: "fail_after"; readonly error?: unknown }
  /** The call does nothing and never answers. */
  | { readonly kind: "hang" }
  /** The call is made later. */
  | { readonly kind: "delay"; readonly ms: number };

/** A call of which a fault plan decides. */
export interface FaultyCall {
  readonly method: string;
  /** Which call of this method it is, from 1. */
  readonly nth: number;
  /** Which call of any method it is, from 1. */
  readonly total: number;
}

/** Decides about each call as it is made; undefined lets it through. */
export type FaultPlan = (call: FaultyCall) => Fault | undefined;

/** A plan with one fault, at the nth call of a method. */
export const onNthCall =
  (method: string, nth: number, fault: Fault): FaultPlan =>
  (call) =>
    call.method === method && call.nth === nth ? fault : undefined;

/** Options of `onRandomCalls`. */
export interface RandomFaultsOptions {
  readonly random: SeededRandom;
  /** The share of calls that go wrong, from 0 to 1. */
  readonly rate: number;
  /** One of these is picked. */
  readonly faults: readonly Fault[];
  /** Only these methods; otherwise all but `close`, because a test has to end. */
  readonly methods?: readonly string[];
}

/** A plan with faults at random calls, decided by a seed. */
export const onRandomCalls = ({ random, rate, faults, methods }: RandomFaultsOptions): FaultPlan => {
  const affected = methods && new Set(methods);
  return ({ method }) => {
    if (affected ? !affected.has(method) : method === "close") return undefined;
    return random.chance(rate) ? random.pick(faults) : undefined;
  };
};
