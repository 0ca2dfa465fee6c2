import { announcePruned } from "../engine/delete.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WorkerContext } from "./worker-context.ts";

// Small enough that nobody notices the transaction.
const batchSize = 500;

/**
 * Removes finished jobs that are past their retention, one bounded batch at a time. Between batches it leaves the store
 * alone for as long as the last one took; between passes it rests. While another worker prunes, it leaves that to it.
 */
export const startPruner = (worker: WorkerContext): Loop | undefined => {
  const { engine, settings } = worker;
  const { store, runtime, retention } = engine;
  const { clock, random } = runtime;
  if (retention.isUnlimited) return undefined;
  let rules = retention.rulesAt(0);
  let after: string | null = null;
  let isFirst = true;

  // Jitter keeps the workers of a fleet from pruning in step; the first wait is a share of the time, whatever it is.
  const rest = (): number => settings.pruneIntervalMs * (0.75 + random() / 2);

  return startLoop(worker, "pruner", async () => {
    if (isFirst) {
      isFirst = false;
      return settings.pruneIntervalMs * random();
    }
    // The same moment for a whole pass.
    if (after === null) rules = retention.rulesAt(await store.getTime());
    const startedAt = clock.monotonic();
    const result = await store.pruneSequences({ rules, limit: batchSize, after, alone: true });
    announcePruned(engine, result);
    after = result?.next ?? null;
    return after === null ? rest() : Math.max(1, clock.monotonic() - startedAt);
  });
};
