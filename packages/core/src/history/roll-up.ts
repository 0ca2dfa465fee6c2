import type { History } from "../store/contract/history.ts";
import type { RollUpBucketsCall, StatisticsBucket } from "../store/contract/history.ts";
import {
  causeKeptMs,
  encodeCounts,
  foldReportersAfterMs,
  mergeCounts,
  reporterKeptMs,
  bucketSizes,
} from "./counts.ts";

/** How many rows one transaction rolls up: few enough to keep it short. */
const pageSize = 1_000;

const mostPresent = 10 * pageSize;

const startOf = (moment: number, bucketMs: number): number => Math.floor(moment / bucketMs) * bucketMs;

const keyOf = (bucketMs: number, { from, queue, typeName, deployment }: StatisticsBucket): string =>
  JSON.stringify([startOf(from, bucketMs), queue, typeName, deployment]);

/**
 * Rows as rows of `width`, of no particular reporter. `present` are those of that width that may be there already: what is
 * added to one of them replaces it. Undefined if nothing is to be done.
 */
export const planRollUp = (
  rows: readonly StatisticsBucket[],
  present: readonly StatisticsBucket[],
  bucketMs: number,
): RollUpBucketsCall | undefined => {
  const groups = new Map<string, StatisticsBucket[]>();
  for (const row of rows) {
    const key = keyOf(bucketMs, row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  // Rows of this width are among those to fold where only reporters are merged.
  const isFolded = (row: StatisticsBucket): boolean => row.bucketMs === bucketMs && row.processId === "";
  for (const row of present) {
    const group = groups.get(keyOf(bucketMs, row));
    if (group && isFolded(row) && !group.some(isFolded)) group.push(row);
  }
  const remove: StatisticsBucket[] = [];
  const put: StatisticsBucket[] = [];
  for (const group of groups.values()) {
    if (group.every(isFolded)) continue;
    const { from, queue, typeName, deployment } = group[0]!;
    const counts = encodeCounts(mergeCounts(group.map((row) => row.counts)));
    remove.push(...group);
    put.push({ bucketMs, from: startOf(from, bucketMs), queue, typeName, deployment, processId: "", counts });
  }
  return remove.length === 0 ? undefined : { remove, put };
};

/**
 * The rows of whole buckets. The last bucket of a full page may continue in the next page, unless it is the only one.
 */
const wholeStretches = (page: readonly StatisticsBucket[], bucketMs: number): readonly StatisticsBucket[] => {
  if (page.length < pageSize) return page;
  const last = startOf(page.at(-1)!.from, bucketMs);
  const whole = page.filter(({ from }) => startOf(from, bucketMs) < last);
  return whole.length > 0 ? whole : page;
};

interface Step {
  readonly bucketMs: number;
  readonly into: number;
  /** Only rows that begin before this moment. */
  readonly before: number;
}

/** The steps of a pass, with the widest rows first, so that nothing is folded twice in one pass. */
const stepsAt = (now: number): readonly Step[] => [
  ...bucketSizes
    .slice(0, -1)
    .map(({ bucketMs, keptMs }, index) => {
      const into = bucketSizes[index + 1]!.bucketMs;
      return { bucketMs, into, before: startOf(now - keptMs, into) };
    })
    .reverse(),
  { bucketMs: bucketSizes[0]!.bucketMs, into: bucketSizes[0]!.bucketMs, before: now - foldReportersAfterMs },
];

/** Rolls statistics up into larger buckets and deletes old ones. */
export interface RollUp {
  /** Stops after a full page. Returns whether more is left to do. */
  turn(now: number): Promise<boolean>;
}

export const createFolding = (history: History<object>): RollUp => {
  /** What is left of a pass that was not finished in one turn. */
  let steps: readonly Step[] = [];
  /** From where on the first of them has not been looked at. */
  let from = 0;
  /** Until when the rows of reporters have been merged. */
  let mergedUntil = 0;

  const foldPage = async ({ bucketMs, into, before }: Step): Promise<"more" | "done" | "lost"> => {
    const page = await history.readBuckets({ bucketMs, from, before, limit: pageSize });
    const isFull = page.length === pageSize;
    const rows = wholeStretches(page, into);
    if (rows.length === 0) return "done";
    const first = startOf(rows[0]!.from, into);
    const end = startOf(rows.at(-1)!.from, into) + into;
    const present =
      into === bucketMs
        ? []
        : await history.readBuckets({ bucketMs: into, from: first, before: end, limit: mostPresent });
    const plan = planRollUp(rows, present, into);
    if (plan && !(await history.rollUpBuckets(plan))) return "lost";
    // A stretch that does not fit on a page is read again while there is something in it to fold.
    const isPart = isFull && rows.length === page.length;
    from = plan && isPart ? first : end;
    return isFull ? "more" : "done";
  };

  const forget = async (now: number): Promise<boolean> => {
    const { bucketMs, keptMs } = bucketSizes.at(-1)!;
    const forgotten = await history.deleteOldReports({
      processesBefore: now - reporterKeptMs,
      causesBefore: now - causeKeptMs,
      buckets: [{ bucketMs, before: now - keptMs }],
      limit: pageSize,
    });
    return forgotten === pageSize;
  };

  const isMerging = (step: Step | undefined): boolean => step !== undefined && step.into === step.bucketMs;

  return {
    turn: async (now) => {
      if (steps.length === 0) {
        steps = stepsAt(now);
        from = 0;
      }
      for (let step = steps[0]; step; step = steps[0]) {
        const folded = await foldPage(step);
        if (folded === "more") return true;
        if (folded === "lost") {
          // Another process has rolled them up. The next pass starts anew.
          steps = [];
          return false;
        }
        if (isMerging(step)) mergedUntil = step.before;
        steps = steps.slice(1);
        from = isMerging(steps[0]) ? mergedUntil : 0;
      }
      return forget(now);
    },
  };
};
