import assert from "node:assert/strict";
import { type Clock, systemClock } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { recordCalls } from "../testing/record-calls.ts";
import { type Mishap, type ProcessName, setStage } from "./nth-call/stage.ts";
import { sequenceIds, tell } from "./nth-call/story.ts";
import { assertEnding, assertExecutions, assertLeases, type Told } from "./nth-call/verdict.ts";
import type { ConformanceRunner } from "./runner.ts";

/** What `nthCallConformance` needs: an adapter over an empty store. */
export interface NthCallFixture {
  /** An adapter over an empty store. With `time: "manual"` the store's clock has to be this one. */
  create(clock: Clock): Promise<{ readonly adapter: AnyStateAdapter; destroy(): Promise<void> }>;
  /**
   * `manual` for a store in this process, which can be given any clock: then hours take milliseconds. `real` for one
   * that has a clock of its own.
   */
  readonly time: "manual" | "real";
}

/** Options of `nthCallConformance`. */
export interface NthCallOptions {
  /** Looks only at every so many calls, for a store on which the story takes long. Default: 1, at all of them. */
  readonly every?: number | undefined;
}

interface Telling extends Told {
  readonly calls: Readonly<Record<ProcessName, readonly string[]>>;
}

const tellOnce = async (
  { create, time }: NthCallFixture,
  mishap: Mishap | undefined,
  undisturbed: Telling | undefined,
): Promise<Telling> => {
  const manualClock = time === "manual" ? createManualClock() : undefined;
  const clock = manualClock ?? systemClock;
  const { adapter, destroy } = await create(clock);
  try {
    const { adapter: store, callsOf } = recordCalls(adapter);
    const stage = await setStage(store, clock, manualClock, mishap);
    const told = tell(stage);
    await (manualClock ? manualClock.runUntil(told) : told);
    const attempts = await assertEnding(adapter);
    assertLeases(callsOf("claimJobs"));
    const { calls, outside } = stage;
    const telling = { calls, attempts, executions: outside.executions };
    if (mishap && undisturbed) {
      const method = undisturbed.calls[mishap.process][mishap.nth - 1]!;
      assertExecutions(telling, undisturbed, mishap, method);
    }
    return telling;
  } finally {
    await adapter.deleteSequences({ rootSequenceIds: Object.values(sequenceIds) });
    await destroy();
  }
};

const mishaps: readonly (readonly [ProcessName, Mishap["kind"], string])[] = [
  ["caller", "fail_before", "fails for the caller"],
  ["caller", "fail_after", "loses its reply to the caller"],
  ["caller", "hang", "never answers the caller"],
  ["caller", "outage", "is the first of an outage for the caller"],
  ["worker", "fail_before", "fails for the worker"],
  ["worker", "fail_after", "loses its reply to the worker"],
  ["worker", "hang", "never answers the worker"],
  ["worker", "outage", "is the first of an outage for the worker"],
  ["worker", "kill_before", "is the last thing the worker's process would have done"],
  ["worker", "kill_after", "is the last thing the worker's process did"],
];

// In real time a telling mostly waits for a lease to run out. Where time costs nothing, there is nothing to gain.
const atOnce = { manual: 1, real: 3 } as const;

// A story takes some tens of store calls on a store of whatever speed; this only ends one that hangs.
const timeoutMs = 3_600_000;

/**
 * One story through everything a job can go through, told again for each store call of it and each way in which that
 * call can go wrong. It has to end the same way every time.
 */
export const nthCallConformance = (
  runner: ConformanceRunner,
  fixture: NthCallFixture,
  { every = 1 }: NthCallOptions = {},
): void => {
  runner.describe("the story with one store call that goes wrong", () => {
    let first: Promise<Telling> | undefined;
    const tellUndisturbed = (): Promise<Telling> => (first ??= tellOnce(fixture, undefined, undefined));

    for (const [process, kind, what] of mishaps) {
      runner.it(
        `ends right whichever call ${what}`,
        async () => {
          const undisturbed = await tellUndisturbed();
          const failures: string[] = [];
          const calls = undisturbed.calls[process];
          let next = 1;
          const tellOthers = async (): Promise<void> => {
            while (next <= calls.length) {
              const nth = next;
              next += every;
              try {
                await tellOnce(fixture, { process, nth, kind }, undisturbed);
              } catch (error) {
                const text = error instanceof Error ? error.message : String(error);
                failures.push(`call ${nth}, ${calls[nth - 1]}: ${text}`);
              }
            }
          };
          await Promise.all(Array.from({ length: atOnce[fixture.time] }, tellOthers));
          assert.deepEqual(failures, []);
        },
        timeoutMs,
      );
    }
  });
};
