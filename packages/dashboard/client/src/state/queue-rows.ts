import type { LimitRule, LimitRules } from "../../../src/answers/jobs.ts";
import type {
  Backlog,
  Process,
  QueueStatistics,
  Statistics,
  TypeBacklog,
} from "../../../src/answers/numbers.ts";
import { usePolled } from "./api.ts";
import { useTopic } from "./live.ts";
import { rangeEnd, useStatistics } from "./range.ts";
import { backlog, offers } from "./session.ts";

/** What the page shows of a queue. Missing values are unknown. */
export interface QueueRow {
  readonly queue: string;
  /** All types together. */
  readonly backlog: TypeBacklog;
  /** Whether there is more than was counted. */
  readonly isCapped: boolean;
  readonly numbers: QueueStatistics;
  readonly perSecond: { readonly in: number; readonly out: number } | undefined;
  /** How many live workers serve it. */
  readonly workers: number | undefined;
  readonly isPaused: boolean;
}

export const sum = <T>(rows: readonly T[], of: (row: T) => number): number =>
  rows.reduce((total, row) => total + of(row), 0);

/** All pending jobs of a type. */
export const countWaiting = ({ runnable, throttled, overdue, later }: TypeBacklog): number =>
  runnable + throttled + overdue + later;

/** How many jobs are not finished, of all queues or one; undefined where there are more than were counted. */
export const countUnfinished = (backlog: Backlog | undefined, queue?: string): number | undefined => {
  if (backlog === undefined) return undefined;
  const types = backlog.types.filter((type) => queue === undefined || type.queue === queue);
  const counts = types.flatMap(({ runnable, throttled, overdue, later, running, blocked }) => [
    runnable,
    throttled,
    overdue,
    later,
    running,
    blocked,
  ]);
  return counts.some((count) => count >= backlog.cap) ? undefined : sum(counts, (count) => count);
};

export const secondsOf = ({ from, before }: Pick<Statistics, "from" | "before">): number =>
  Math.max(1, (Date.parse(before) - Date.parse(from)) / 1_000);

const addBacklogs = (queue: string, rows: readonly TypeBacklog[]): TypeBacklog => ({
  queue,
  typeName: "",
  runnable: sum(rows, (row) => row.runnable),
  throttled: sum(rows, (row) => row.throttled),
  overdue: sum(rows, (row) => row.overdue),
  later: sum(rows, (row) => row.later),
  running: sum(rows, (row) => row.running),
  expired: sum(rows, (row) => row.expired),
  blocked: sum(rows, (row) => row.blocked),
  failed: sum(rows, (row) => row.failed),
  oldestRunnableAt:
    rows
      .map(({ oldestRunnableAt }) => oldestRunnableAt)
      .filter((at) => at !== null)
      .sort()[0] ?? null,
});

const nothingCounted = {
  created: 0,
  completed: 0,
  failed: 0,
  retried: 0,
  startP50: null,
  startP95: null,
  runP50: null,
  runP95: null,
};

export interface Known {
  /** Undefined for a past range: the backlog is not stored. */
  readonly backlog: Backlog | undefined;
  readonly statistics: Statistics | undefined;
  readonly processes: readonly Process[] | undefined;
  readonly rules: readonly LimitRule[] | undefined;
}

export const describeQueue = (queue: string, { backlog, statistics, processes, rules }: Known): QueueRow => {
  const types = backlog?.types.filter((type) => type.queue === queue) ?? [];
  const numbers = statistics?.queues.find((row) => row.queue === queue) ?? { queue, ...nothingCounted };
  const seconds = statistics === undefined ? undefined : secondsOf(statistics);
  return {
    queue,
    backlog: addBacklogs(queue, types),
    isCapped: types.some(({ runnable }) => runnable >= (backlog?.cap ?? Infinity)),
    numbers,
    perSecond:
      seconds === undefined
        ? undefined
        : { in: numbers.created / seconds, out: (numbers.completed + numbers.failed) / seconds },
    workers: processes && workersOf(processes, queue).length,
    isPaused: rules?.some((rule) => rule.paused && rule.typeName === null && rule.queue === queue) === true,
  };
};

export const workersOf = (processes: readonly Process[], queue: string) =>
  processes
    .filter(({ isAlive }) => isAlive)
    .flatMap((process) =>
      process.workers
        .filter(({ queues }) => queues.includes(queue))
        .map((worker) => ({ ...worker, process })),
    );

/** Every queue with jobs now or in the shown range. */
export const describeQueues = (known: Known): QueueRow[] => {
  const names = new Set([
    ...(known.backlog?.types.map(({ queue }) => queue) ?? []),
    ...(known.statistics?.queues.map(({ queue }) => queue) ?? []),
  ]);
  return [...names].sort((a, b) => a.localeCompare(b)).map((queue) => describeQueue(queue, known));
};

/** When the runnable jobs will be done, at the rates of the shown range. */
export const emptyIn = ({
  backlog,
  perSecond,
  isPaused,
}: QueueRow): number | "paused" | "grows" | undefined => {
  if (backlog.runnable === 0 || perSecond === undefined) return undefined;
  if (isPaused) return "paused";
  const net = perSecond.out - perSecond.in;
  return net <= 0 ? "grows" : (1_000 * backlog.runnable) / net;
};

/** The rows of all queues for the shown range. Waiting and running jobs are known for now only. */
export const useKnown = (queue?: string) => {
  const isNow = rangeEnd.value === undefined;
  const { data: statistics, error } = useStatistics(queue);
  const { data: workers } = useTopic("processes", { when: isNow && offers("history") });
  const { data: limits, reload: reloadRules } = usePolled<LimitRules>(
    isNow && offers("limits") ? "limits" : null,
    10_000,
  );
  const known: Known = {
    backlog: isNow ? backlog.value : undefined,
    statistics,
    processes: isNow ? workers?.processes : undefined,
    rules: limits?.rules,
  };
  const isComplete =
    (known.backlog !== undefined || !isNow) && (statistics !== undefined || !offers("history"));
  return { isNow, known, error, isComplete, reloadRules };
};
