import type { ConformanceRunner } from "./runner.ts";
import type { StateAdapterFixture, StateAdapterUnderTest } from "./state-fixture.ts";
import { runAgainstModel } from "./oracle/run.ts";

interface Arbitrary<T> {
  readonly generate: (...args: never[]) => { readonly value: T };
}

/** What is needed of fast-check: pass its module as it is. Core itself does not depend on it. */
export interface FastCheck {
  nat(limits: { readonly max: number }): Arbitrary<number>;
  array<T>(
    item: Arbitrary<T>,
    limits: { readonly minLength?: number; readonly maxLength?: number; readonly size?: "max" },
  ): Arbitrary<T[]>;
  asyncProperty<T>(arbitrary: Arbitrary<T>, check: (value: T) => Promise<void>): unknown;
  assert(property: never, parameters: object): Promise<void> | void;
}

/** Options of `modelConformance`. */
export interface ModelConformanceOptions {
  readonly fc: FastCheck;
  /** How many runs, each of up to 50 steps. Default: 200. The variable LEASEHOLD_MODEL_RUNS overrides it. */
  readonly runs?: number | undefined;
  /** Both as a failed run prints them, to see it again. Default: the same runs each time, or others with LEASEHOLD_MODEL_RUNS. */
  readonly seed?: number | undefined;
  readonly path?: string | undefined;
}

const fixedSeed = 20_261_118;

const mostSteps = 50;
// More than most steps draw; beyond them every choice is the plainest.
const numbersPerStep = 40;
const largestNumber = 9_999;
const timeoutMs = 600_000;

/**
 * Random calls in random order, made to the adapter and to a naive model of the contract: every answer has to be the
 * same, and in the end everything that can be read. A run that fails is shrunk to the steps that matter.
 */
export const modelConformance = (
  runner: ConformanceRunner,
  fixture: StateAdapterFixture,
  { fc, runs = 200, seed, path }: ModelConformanceOptions,
): void => {
  const step = fc.array(fc.nat({ max: largestNumber }), {
    minLength: 1,
    maxLength: numbersPerStep,
    size: "max",
  });
  const steps = fc.array(step, { maxLength: mostSteps, size: "max" });

  runner.describe("model runs", () => {
    // Every run leaves its store empty, so one will do until a run has failed and left it who knows how.
    let store: Promise<StateAdapterUnderTest> | undefined;
    const discard = async (): Promise<void> => {
      const used = store;
      store = undefined;
      await (await used)?.destroy();
    };
    runner.afterAll(discard);

    const checkAbout = (about: "jobs" | "limits") => async (drawn: readonly (readonly number[])[]) => {
      store ??= fixture.create();
      const { adapter } = await store;
      try {
        await runAgainstModel(adapter, about, drawn);
      } catch (error) {
        await discard();
        throw error;
      }
    };

    const moreRuns = process.env["LEASEHOLD_MODEL_RUNS"];
    const replay = {
      ...(seed === undefined && moreRuns !== undefined ? {} : { seed: seed ?? fixedSeed }),
      ...(path === undefined ? {} : { path }),
    };
    const agree = async (about: "jobs" | "limits"): Promise<void> => {
      await fc.assert(fc.asyncProperty(steps, checkAbout(about)) as never, {
        numRuns: Number(moreRuns ?? runs),
        ...replay,
      });
    };
    runner.it("adapter and model agree on whatever happens", () => agree("jobs"), timeoutMs);
    if (fixture.without?.limits === undefined)
      runner.it("and on groups and rules", () => agree("limits"), timeoutMs);
  });
};
