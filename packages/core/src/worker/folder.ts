import { parseAbout } from "../engine/reporter/about.ts";
import { createFolding } from "../engine/reporter/fold.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WorkerContext } from "./worker-context.ts";

const intervalMs = 30_000;
const aliveMs = 30_000;

/**
 * Of how many others a process asks in turn, those that reported last. Most find one with a smaller id among the first few, so
 * that in a large fleet nobody but a handful reads the whole list.
 */
const samples: readonly number[] = [10, 100, 1_000];

/**
 * Brings the counts of the past together, and forgets those that are too old. One process of all does: the one with the
 * smallest id of those that run workers. If two think that it is them, the store lets only one of them replace a row.
 */
export const startFolder = (worker: WorkerContext): Loop | undefined => {
  const { store, runtime, reporter } = worker.engine;
  const { history } = store;
  if (!reporter.isOn || !history) return undefined;
  const folding = createFolding(history);
  let isFirst = true;

  // Jitter keeps the workers of a fleet from asking in step.
  const rest = (): number => intervalMs * (0.75 + runtime.random() / 2);

  const isMine = async (now: number): Promise<boolean> => {
    if (reporter.id === undefined || reporter.firstWorkerId !== worker.settings.workerId) return false;
    for (const limit of samples) {
      const reporters = await history.listReporters({ seenFrom: now - aliveMs, limit });
      const working = reporters.filter(({ about }) => parseAbout(about).workers.length > 0);
      if (working.some(({ id }) => id < reporter.id!)) return false;
      if (reporters.length < limit) break;
    }
    return true;
  };

  return startLoop(worker, "folder", async () => {
    if (isFirst) {
      isFirst = false;
      return rest();
    }
    const now = await store.getTime();
    if (!(await isMine(now))) return rest();
    return (await folding.turn(now)) ? 0 : rest();
  });
};
