import { sleep } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { withFaults } from "../testing/faults.ts";
import type { ManualClock } from "../testing/manual-clock.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";
import type { Chaos } from "./chaos.ts";
import type { VirtualProcess } from "./virtual-process.ts";

export interface ProcessStoreOptions {
  readonly adapter: AnyStateAdapter;
  readonly process: VirtualProcess;
  readonly clock: ManualClock;
  readonly random: SeededRandom;
  readonly chaos: Chaos;
  /** Each way takes up to so long. */
  readonly latencyMs: number;
  readonly kill: (why: string) => void;
}

const answeredLocally: ReadonlySet<string> = new Set([
  "isInTransaction",
  "isTransientError",
  "isConflictRollback",
]);

/**
 * The store at the end of a process's own connection: calls take time, go wrong as the chaos decides, and neither leave
 * nor return while the process is paused or dead.
 */
export const createProcessStore = (options: ProcessStoreOptions): AnyStateAdapter => {
  const { process, clock, random, chaos, latencyMs, kill } = options;
  const faulty = withFaults(options.adapter, ({ method }) => chaos.onStoreCall(process, method), { clock });

  const travel = async (): Promise<void> => {
    // Many calls take no time at all: then everything that can happen at once does.
    if (latencyMs > 0 && random.chance(0.5)) await sleep(clock, random.next() * latencyMs);
  };

  const mayDie = (moment: string): void => {
    if (!process.isDead && chaos.killsAtCall()) kill(moment);
  };

  // Without this a transaction of a dead process would stay open; a database notices the lost connection.
  const untilDeath =
    (callback: (ctx: unknown) => Promise<unknown>) =>
    (ctx: unknown): Promise<unknown> =>
      Promise.race([callback(ctx), process.death]);

  return wrapAdapter(faulty, (method, original): AnyMethod => {
    if (answeredLocally.has(method)) return original;
    return async (...args) => {
      await process.awake();
      mayDie(`before ${method}`);
      await process.awake();
      if (method === "runInTransaction") args[0] = untilDeath(args[0] as (ctx: unknown) => Promise<unknown>);
      await travel();
      try {
        return await original(...args);
      } finally {
        mayDie(`after ${method}`);
        await travel();
        await process.awake();
      }
    };
  });
};
