import type { Finding, TypeBacklog } from "../contracts/state-adapter.ts";
import { serves } from "../engine/history/list-processes.ts";
import { formatCount, formatDuration } from "../model/amounts.ts";
import { finding } from "../rules/findings.ts";
import { countCap, type Facts } from "./facts.ts";
import { onOneLine } from "./on-one-line.ts";

export interface QueueJudgementOptions {
  /** A runnable job that has waited so long has waited too long. */
  readonly stalledMs: number;
  /** Types that are completed from outside: nobody is missing there, however long they wait. */
  readonly workerless?: ReadonlySet<string> | undefined;
}

/** A type whose jobs wait too long in a queue. */
export interface LateType {
  readonly queue: string;
  readonly typeName: string;
  /** Its jobs that could run now, counted up to 10,000. */
  readonly runnable: number;
  /** Those, and the ones that are scheduled for later. */
  readonly pending: number;
  /** Since when the oldest of them could have been running. */
  readonly since: number;
  /** Whether anything suggests that somebody works on it: a live worker, jobs that run, or jobs that finished lately. */
  readonly isServed: boolean;
}

const isSameType = (
  a: { readonly queue: string; readonly typeName: string },
  b: { readonly queue: string; readonly typeName: string },
): boolean => a.queue === b.queue && a.typeName === b.typeName;

/** The types whose jobs wait too long, those that wait longest first. What is paused waits because somebody wants it to. */
export const findLateTypes = async (
  facts: Facts,
  { stalledMs, workerless }: QueueJudgementOptions,
): Promise<LateType[]> => {
  const now = await facts.now();
  const paused = (await facts.rules()).filter(({ rule }) => rule.paused).map(({ rule }) => rule);
  const isPaused = (type: TypeBacklog): boolean =>
    paused.some(
      ({ queue, typeName }) => queue === type.queue && (typeName === null || typeName === type.typeName),
    );
  const late = (await facts.backlog()).filter(
    (type) =>
      type.oldestRunnableAt !== null &&
      now - type.oldestRunnableAt >= stalledMs &&
      workerless?.has(type.typeName) !== true &&
      !isPaused(type),
  );
  if (late.length === 0) return [];
  const workers = (await facts.workers()) ?? [];
  const isWorkedOn = (type: TypeBacklog): boolean =>
    type.running > type.expired || workers.some((worker) => serves(worker, type.queue, type.typeName));
  // Most often there is nobody to look for.
  const finished = late.every(isWorkedOn) ? [] : await facts.finishedSince(now - stalledMs);
  return late
    .map((type) => ({
      queue: type.queue,
      typeName: type.typeName,
      runnable: type.runnable,
      pending: type.runnable + type.later,
      since: type.oldestRunnableAt!,
      isServed: isWorkedOn(type) || finished.some((job) => isSameType(job, type)),
    }))
    .sort((a, b) => a.since - b.since);
};

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const checkQueues = async (
  facts: Facts,
  options: QueueJudgementOptions,
): Promise<readonly Finding[]> => {
  const now = await facts.now();
  const late = await findLateTypes(facts, options);
  if (late.length === 0) return [finding.ok("queues", "No queue has jobs that wait for long.")];
  late.sort((a, b) => byName(a.queue, b.queue) || byName(a.typeName, b.typeName));
  return late.map(({ queue, typeName, pending, since, isServed }) => {
    const count = `${formatCount(pending)}${pending >= countCap ? "+" : ""}`;
    const what = `${count} ${pending === 1 ? "job" : "jobs"} of type ${onOneLine(typeName)} in queue ${onOneLine(queue)}`;
    const age = formatDuration(now - since);
    return isServed
      ? finding.warning(
          "queues",
          `${what}, the oldest runnable for ${age}.`,
          "Workers are behind: raise their concurrency, or start more of them.",
        )
      : finding.problem(
          "queues",
          `${what}, runnable for ${age}: nothing of it runs, nothing has finished lately.`,
          "No worker serves this queue and type: start one. If its jobs are completed by a person or another program, set `workerless: true` on the type in the config module's jobTypes.",
        );
  });
};
