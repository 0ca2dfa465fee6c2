import type { Runtime } from "../base/runtime.ts";
import { requireOptions } from "../base/options.ts";
import { createUuidV7 } from "../base/runtime.ts";
import { createManualClock, type ManualClock } from "./manual-clock.ts";
import { createSeededRandom } from "./seeded-random.ts";

/** Options of `createDeterministicRuntime`. */
export interface DeterministicRuntimeOptions {
  /** Two runtimes of one simulation need different seeds, or they will make the same ids and tokens. */
  readonly seed: number | string;
  /** Share one clock among the runtimes of a simulation. */
  readonly clock?: ManualClock;
}

export interface DeterministicRuntime extends Runtime {
  readonly clock: ManualClock;
  /** For the failure message: with it the run can be repeated. */
  readonly seed: number | string;
}

/** In the form of the system's tokens, for stores that have a type for UUIDs. */
const createUuidV4 = (bytes: Uint8Array): string => {
  bytes[6] = 0x40 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
};

/** Everything that usually differs between two runs, determined by a seed and a clock that the test moves. */
export const createDeterministicRuntime = (options: DeterministicRuntimeOptions): DeterministicRuntime => {
  const { seed, clock = createManualClock() } = requireOptions<keyof DeterministicRuntimeOptions>(
    options,
    "createDeterministicRuntime",
    { seed: true, clock: true },
  ) as DeterministicRuntimeOptions;
  // A stream for each use: one more draw for jitter must not change every id after it.
  const ids = createSeededRandom(`${seed}/ids`);
  const tokens = createSeededRandom(`${seed}/tokens`);
  return {
    seed,
    clock,
    random: createSeededRandom(`${seed}/random`).next,
    createId: createUuidV7({ now: clock.now, randomBytes: ids.bytes }),
    createToken: () => createUuidV4(tokens.bytes(16)),
  };
};
