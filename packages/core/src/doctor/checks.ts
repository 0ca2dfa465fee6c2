import { formatCount, formatDuration, onOneLine, plural } from "../base/format.ts";
import type { StateStore } from "../engine/dispatch.ts";
import { readServing, type Serving, serves } from "../history/processes.ts";
import { readTickHistory, type StartFailure } from "../recurring/decide-tick.ts";
import type { CheckResult, RecentlyFinishedJob, TypeBacklog } from "../store/contract/diagnostics.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { CounterRepair, LimitScope, LimitUse } from "../store/contract/limits.ts";
import type { PagePosition } from "../store/contract/reads.ts";
import type { StateRecurringJob } from "../store/contract/recurring.ts";
import { requirePart } from "../store/parts.ts";
import { finding } from "../store/rules/diagnostics.ts";

/** Numbers of the backlog are counted up to here. How many more there are hardly matters. */
const countCap = 10_000;

const sampleSize = 5_000;

/** What there is to judge. Each is read when it is first asked for, and once. */
export interface StoreFacts {
  readonly store: StateStore;
  now(): Promise<number>;
  backlog(): Promise<readonly TypeBacklog[]>;
  /** The workers of live processes, and the types that need none. */
  serving(): Promise<Serving>;
  /** The rules of queues and types; none where the store has no rules. */
  rules(): Promise<readonly LimitUse[]>;
  /** A sample of what finished since a moment. */
  finishedSince(from: number): Promise<readonly RecentlyFinishedJob[]>;
}

const once = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
};

export const readFacts = (store: StateStore, cap: number = countCap): StoreFacts => {
  const now = once(() => store.getTime());
  return {
    store,
    now,
    backlog: once(() => requirePart(store, "statistics", "Counting jobs").measureBacklog({ cap })),
    serving: once(async () => readServing(store.history, await now())),
    rules: once(async () => (await store.limits?.listRules({ queue: null })) ?? []),
    finishedSince: (from) =>
      requirePart(store, "statistics", "Measuring rates").listRecentlyFinished({ from, limit: sampleSize }),
  };
};

const recentMs = 3_600_000;

const sampleSizeFailures = 500;

/** Whether a failure is recent enough for a warning. */
export const isRecentFailure = (failedAt: number, now: number): boolean => failedAt >= now - recentMs;

export const checkFailures = async (facts: StoreFacts): Promise<readonly CheckResult[]> => {
  const now = await facts.now();
  const backlog = await facts.backlog();
  const isMore = backlog.some(({ failed }) => failed >= countCap);
  const failed = `${formatCount(backlog.reduce((sum, type) => sum + type.failed, 0))}${isMore ? "+" : ""}`;
  const { jobs } = await facts.store.listJobs({
    filter: { statuses: ["failed"] },
    order: "newest",
    limit: sampleSizeFailures,
    after: null,
  });
  const recent = jobs.filter(({ failedAt }) => failedAt !== null && isRecentFailure(failedAt, now)).length;
  if (recent === 0) return [finding.ok("failures", `${failed} failed jobs, none of the last hour.`)];
  const lately = `${formatCount(recent)}${recent === sampleSizeFailures ? "+" : ""}`;
  return [
    finding.warning(
      "failures",
      `${lately} ${lately === "1" ? "job" : "jobs"} failed in the last hour; ${failed} in all.`,
      "See `leasehold failed list`, and `leasehold failed redrive` when the cause is gone.",
    ),
  ];
};

const nameOf = (names: readonly (string | null)[]): string =>
  names
    .filter((name) => name !== null)
    .map((name) => onOneLine(name))
    .join(" / ");

export interface LimitCheckOptions {
  /** Whether to compare counters with the running jobs, for which claims have to wait a moment. */
  readonly counts: boolean;
  /** Whether to set them right. */
  readonly repair: boolean;
}

const judgeCounters = ({ counters }: CounterRepair, repair: boolean): CheckResult[] => {
  const [first] = counters;
  if (first === undefined) return [];
  const name = nameOf([first.queue, first.typeName, first.group]);
  const what = `${plural(counters.length, "counter")} of limits did not match the running jobs, such as ${name}: ${first.was} counted, ${first.is} running.`;
  return [
    repair
      ? finding.ok("limits", `${what} Set right.`)
      : finding.problem("limits", what, "Run `leasehold doctor --repair`, and report how it came about."),
  ];
};

/** Paused queues and types. */
export const findPauses = async (facts: StoreFacts): Promise<LimitScope[]> =>
  (await facts.rules())
    .filter(({ rule }) => rule.paused)
    .map(({ rule }) => ({ queue: rule.queue, typeName: rule.typeName }));

/** Whether limits count what runs, and what is paused. */
export const repairCounters = async (
  facts: StoreFacts,
  { counts, repair }: LimitCheckOptions,
): Promise<readonly CheckResult[]> => {
  const { limits } = facts.store;
  if (limits === undefined) return [];
  const findings = counts ? judgeCounters(await limits.repairCounters({ repair }), repair) : [];
  if ((await facts.rules()).length === 0) return findings;
  const paused = await findPauses(facts);
  if (paused.length > 0) {
    const names = paused.slice(0, 5).map(({ queue, typeName }) => nameOf([queue, typeName]));
    findings.push(
      finding.warning("limits", `Paused: ${names.join(", ")}.`, "If that is over, run `leasehold resume`."),
    );
  }
  if (findings.length > 0) return findings;
  const text = counts ? "Limits count what runs, and nothing is paused." : "Nothing is paused.";
  return [finding.ok("limits", text)];
};

// Reapers look every few seconds; a lease that ended long before means that no worker is alive.
const stuckAfterMs = 60_000;

const pageSize = 500;

/**
 * Running jobs with an expired lease that no worker has reclaimed. Usually one count shows that there are none.
 * Otherwise reads a limited number of pages of 500 running jobs, the oldest first.
 */
export const findStuckJobs = async (facts: StoreFacts, mostPages = 20): Promise<StateJob[]> => {
  if ((await facts.backlog()).every(({ expired }) => expired === 0)) return [];
  const now = await facts.now();
  const stuck: StateJob[] = [];
  let after: PagePosition | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const listing: Awaited<ReturnType<StoreFacts["store"]["listJobs"]>> = await facts.store.listJobs({
      filter: { statuses: ["running"] },
      order: "oldest",
      limit: pageSize,
      after,
    });
    stuck.push(...listing.jobs.filter(({ leasedUntil }) => leasedUntil! < now - stuckAfterMs));
    if (listing.next === null) break;
    after = listing.next;
  }
  return stuck;
};

const jobs = (count: number, isMore = false): string =>
  `${formatCount(count)}${isMore ? "+" : ""} running ${count === 1 ? "job" : "jobs"}`;

export const checkLeases = async (facts: StoreFacts): Promise<readonly CheckResult[]> => {
  const stuck = await findStuckJobs(facts);
  const [first] = stuck;
  if (first === undefined) {
    const backlog = await facts.backlog();
    const running = backlog.reduce((sum, type) => sum + type.running, 0);
    const isMore = backlog.some((type) => type.running >= countCap);
    return [finding.ok("leases", `${jobs(running, isMore)}, none with a lease long gone.`)];
  }
  return [
    finding.problem(
      "leases",
      `${jobs(stuck.length)} whose lease ran out more than ${formatDuration(stuckAfterMs)} ago, such as ${first.id} (${onOneLine(first.typeName)}).`,
      "Their worker is gone and no other has taken over: start a worker that serves their queues and types.",
    ),
  ];
};

// A type of which a job finished within this time has a worker, even if its process does not report.
const servedMs = 60_000;

/** Thresholds of the checks of queues. */
export interface QueueCheckOptions {
  /** A runnable job that has waited this long has waited too long. */
  readonly stalledMs: number;
  /** Types that are completed from outside need no worker, however long they wait. */
  readonly workerless?: ReadonlySet<string> | undefined;
}

/** A type with jobs that a worker could run now, in one queue. */
export interface RunnableType {
  readonly queue: string;
  readonly typeName: string;
  /** Its jobs that could run now: due, and neither throttled nor overdue. Counted up to 10,000. */
  readonly runnable: number;
  /** Since when the oldest of the runnable ones could have been running. */
  readonly since: number;
  /** Whether the type is being worked on: a live worker, running jobs, or recently finished jobs. */
  readonly isServed: boolean;
}

const isSameType = (
  a: { readonly queue: string; readonly typeName: string },
  b: { readonly queue: string; readonly typeName: string },
): boolean => a.queue === b.queue && a.typeName === b.typeName;

/** All pending jobs of a type, as far as they were counted. */
export const countPending = ({ runnable, throttled, overdue, later }: TypeBacklog): number =>
  runnable + throttled + overdue + later;

/**
 * Types with jobs that have been runnable for `stalledMs`, the longest wait first. Jobs that a limit, a rate, a pause or the
 * order of their group delays are not runnable. Workerless types are left out: given ones, and ones that processes report.
 */
export const findRunnableTypes = async (
  facts: StoreFacts,
  { stalledMs, workerless }: QueueCheckOptions,
): Promise<RunnableType[]> => {
  const now = await facts.now();
  const late = (await facts.backlog()).filter(
    ({ oldestRunnableAt }) => oldestRunnableAt !== null && now - oldestRunnableAt >= stalledMs,
  );
  if (late.length === 0) return [];
  const serving = await facts.serving();
  const isReported = (type: TypeBacklog): boolean =>
    serving.workers?.some((worker) => serves(worker, type.queue, type.typeName)) === true;
  const runnable = late.filter(
    (type) =>
      workerless?.has(type.typeName) !== true && (isReported(type) || !serving.workerless.has(type.typeName)),
  );
  const isWorkedOn = (type: TypeBacklog): boolean => type.running > type.expired || isReported(type);
  // Recently finished jobs matter only for types without a worker.
  const finished = runnable.every(isWorkedOn)
    ? []
    : await facts.finishedSince(now - Math.max(stalledMs, servedMs));
  return runnable
    .map((type) => ({
      queue: type.queue,
      typeName: type.typeName,
      runnable: type.runnable,
      since: type.oldestRunnableAt!,
      isServed: isWorkedOn(type) || finished.some((job) => isSameType(job, type)),
    }))
    .sort((a, b) => a.since - b.since);
};

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const checkQueues = async (
  facts: StoreFacts,
  options: QueueCheckOptions,
): Promise<readonly CheckResult[]> => {
  const now = await facts.now();
  const late = await findRunnableTypes(facts, options);
  if (late.length === 0) return [finding.ok("queues", "No queue has jobs that wait for long.")];
  late.sort((a, b) => byName(a.queue, b.queue) || byName(a.typeName, b.typeName));
  return late.map(({ queue, typeName, runnable, since, isServed }) => {
    const count = `${formatCount(runnable)}${runnable >= countCap ? "+" : ""}`;
    const what = `${count} ${runnable === 1 ? "job" : "jobs"} of type ${onOneLine(typeName)} in queue ${onOneLine(queue)}`;
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

// Workers sleep until the next time, and look every few seconds.
const overdueAfterMs = 60_000;

const pageSizeRecurring = 1_000;

const mostPages = 20;

const findFailure = ({ tickHistory }: StateRecurringJob): StartFailure | null => {
  try {
    return readTickHistory(tickHistory).failure;
  } catch {
    return null;
  }
};

/** Whether anybody starts the jobs of recurring jobs, and by which zone data. */
export const checkRecurringJobs = async (
  facts: StoreFacts,
  timeZoneVersion: string = process.versions["tz"] ?? "",
): Promise<readonly CheckResult[]> => {
  const { recurring } = facts.store;
  if (recurring === undefined) return [];
  const now = await facts.now();
  let count = 0;
  const overdue: StateRecurringJob[] = [];
  const failing: StateRecurringJob[] = [];
  let newest = "";
  let after: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const rows: readonly StateRecurringJob[] = await recurring.listRecurring({
      limit: pageSizeRecurring,
      after,
    });
    count += rows.length;
    for (const row of rows) {
      if (!row.paused && row.runsAt !== null && row.runsAt < now - overdueAfterMs) overdue.push(row);
      if (!row.paused && findFailure(row) !== null) failing.push(row);
      if (row.timeZoneVersion > newest) newest = row.timeZoneVersion;
    }
    if (rows.length < pageSizeRecurring) break;
    after = rows.at(-1)!.id;
  }
  if (count === 0) return [];

  const findings: CheckResult[] = [];
  if (overdue.length > 0) {
    const first = overdue.reduce((a, b) => (a.runsAt! < b.runsAt! ? a : b));
    findings.push(
      finding.problem(
        "recurring jobs",
        `${plural(overdue.length, "recurring job")} overdue, ${onOneLine(first.id)} for ${formatDuration(now - first.runsAt!)}.`,
        "No worker is alive that could start their jobs: start one. Workers of a version without recurring jobs do not.",
      ),
    );
  }
  if (failing.length > 0) {
    const { tries, error } = findFailure(failing[0]!)!;
    const result = finding.problem(
      "recurring jobs",
      `${plural(failing.length, "recurring job")} cannot start its job, such as ${onOneLine(failing[0]!.id)}, tried ${plural(tries, "time")}.`,
      "Workers try again every minute at most. Put or delete it with what the error names set right; `leasehold recurring show` has the details.",
    );
    // Kept apart: it may quote the input of the job.
    findings.push({ ...result, cause: onOneLine(error.message) });
  }
  if (timeZoneVersion !== "" && newest > timeZoneVersion) {
    findings.push(
      finding.warning(
        "recurring jobs",
        `Their times were computed with time zone data ${newest}; here it is ${timeZoneVersion}.`,
        "Run the same version of Node.js everywhere, so that all workers agree on daylight saving.",
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [finding.ok("recurring jobs", `${plural(count, "recurring job")}, none overdue.`)];
};
