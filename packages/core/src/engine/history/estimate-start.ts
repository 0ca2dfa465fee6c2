import type { StateJob } from "../../model/job.ts";
import type { Engine } from "../engine.ts";
import { createCountSum } from "../reporter/count-sum.ts";
import { countOf } from "../reporter/histogram.ts";
import { readCounted } from "./get-statistics.ts";
import { countWorkers } from "./list-processes.ts";

/** What can be said about when a runnable job starts. */
export interface StartEstimate {
  /** How many live workers serve its queue and type; null where nobody knows. */
  readonly workers: number | null;
  readonly estimatedStart: Date | null;
}

export interface JobsAhead {
  readonly aheadInQueue: number;
  /** There are more. */
  readonly aheadCapped: boolean;
}

const paceMs = 5 * 60_000;

/** The jobs ahead of it, at the pace at which its queue has come along in the last minutes. */
export const estimateStart = async (
  engine: Engine,
  ctx: object | undefined,
  job: StateJob,
  { aheadInQueue, aheadCapped }: JobsAhead,
  now: number,
): Promise<StartEstimate> => {
  const { history } = engine.store;
  if (!history) return { workers: null, estimatedStart: null };
  const workers = await countWorkers(history, ctx, job, now);
  if (!workers || aheadInQueue === 0 || aheadCapped) return { workers, estimatedStart: null };
  const sum = createCountSum();
  const range = { from: now - paceMs, before: now, queues: [job.queue] };
  for await (const page of readCounted(history, ctx, range)) for (const { counts } of page) sum.add(counts);
  const waitMs = (aheadInQueue / countOf(sum.read().runTime)) * paceMs;
  return { workers, estimatedStart: Number.isFinite(waitMs) ? new Date(Math.ceil(now + waitMs)) : null };
};
