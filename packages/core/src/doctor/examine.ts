import { formatCount, formatDuration } from "../base/format.ts";
import {
  longestDurationMs,
  optionalInteger,
  type OptionNames,
  requireBoolean,
  requireOneOf,
  requireOptions,
} from "../base/options.ts";
import { type Clock, createSystemRuntime, systemClock } from "../base/runtime.ts";
import { createDispatch, type StateStore } from "../engine/dispatch.ts";
import type { CheckDepth, CheckResult } from "../store/contract/diagnostics.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { finding, tryCheck } from "../store/rules/diagnostics.ts";
import {
  checkFailures,
  repairCounters,
  checkLeases,
  checkQueues,
  checkRecurringJobs,
  type StoreFacts,
  readFacts,
} from "./checks.ts";

const tolerableMs = 2_000;

/** A difference breaks nothing, since the store's clock decides. But this machine shows dates, and takes schedules, by its own. */
export const checkClock = async (
  store: Pick<StateStore, "getTime">,
  clock: Pick<Clock, "now"> = systemClock,
): Promise<readonly CheckResult[]> => {
  const before = clock.now();
  const storeTime = await store.getTime();
  const after = clock.now();
  const difference = Math.round(storeTime - (before + after) / 2);
  // The answer was made at some moment between the two readings.
  const uncertainty = (after - before) / 2;
  if (Math.abs(difference) <= tolerableMs + uncertainty) {
    return [
      finding.ok("clock", `The store's clock and this machine's differ by ${formatDuration(difference)}.`),
    ];
  }
  const direction = difference > 0 ? "ahead of" : "behind";
  return [
    finding.warning(
      "clock",
      `The store's clock is ${formatDuration(difference)} ${direction} this machine's.`,
      "Synchronise both by NTP. Leases go by the store's clock and are safe, but dates given here mean something else there.",
    ),
  ];
};

// From here on lists, backups and the disk feel it.
const manyJobs = 1_000_000;

/** Whether finished jobs are kept without a limit although there are many. */
const checkRetention = async ({ store }: StoreFacts): Promise<readonly CheckResult[]> => {
  if (store.diagnostics === undefined) return [];
  const kept = await store.diagnostics.estimateJobs({ limit: manyJobs + 1 });
  const count = kept > manyJobs ? `More than ${formatCount(manyJobs)}` : `About ${formatCount(kept)}`;
  const [oldest] = (await store.listJobs({ filter: {}, order: "oldest", limit: 1, after: null })).jobs;
  const since =
    oldest === undefined ? "" : `, the oldest from ${new Date(oldest.createdAt).toISOString().slice(0, 10)}`;
  const summary = `${count} jobs are kept${since}.`;
  return [
    kept <= manyJobs
      ? finding.ok("retention", summary)
      : finding.warning(
          "retention",
          summary,
          "Say how long to keep finished ones, with `defaults: { retention }` of createLeasehold or per job type, or remove them with `leasehold prune`.",
        ),
  ];
};

/** The second argument of `checkStore`. */
export interface ExamineStoreOptions {
  /** When a runnable job has waited too long. Default: 5 minutes. */
  readonly stalledMs?: number | undefined;
  /** From which age an open transaction is reported, in stores that list them. Default: a minute. */
  readonly transactionAgeMs?: number | undefined;
  /** How much the store may do for the answer. Default: `usual`. */
  readonly depth?: CheckDepth | undefined;
  /** Whether to set counters of limits right that do not match the running jobs. Default: false, which changes nothing. */
  readonly repair?: boolean | undefined;
  /** Types that are completed from outside, so that no worker is missing. Default: none. */
  readonly workerless?: Iterable<string> | undefined;
  /** How long the store may take to answer one call. Default: 10 seconds. */
  readonly storeDeadlineMs?: number | undefined;
}

const knownOptions: OptionNames<keyof ExamineStoreOptions> = {
  stalledMs: true,
  transactionAgeMs: true,
  depth: true,
  repair: true,
  workerless: true,
  storeDeadlineMs: true,
};

const range = { min: 1, max: longestDurationMs };

/** The adapter with a deadline for every call. What looks at jobs is bounded, so none takes long. */
const withDeadlines = (adapter: AnyStateAdapter, deadlineMs: number): StateStore =>
  createDispatch({
    adapter,
    runtime: createSystemRuntime(),
    // Errors of the store are reported as check results.
    observe: () => {},
    deadlineMs,
    retry: { maxAttempts: 2, initialDelayMs: 50, maxDelayMs: 50 },
  });

/** What `findRunnableTypes`, `findStuckJobs` and `findPauses` judge, and the checks of `checkStore` with them. */
export const readStoreFacts = (
  stateAdapter: AnyStateAdapter,
  {
    storeDeadlineMs = 10_000,
    cap,
  }: Pick<ExamineStoreOptions, "storeDeadlineMs"> & {
    /** How far jobs are counted. Default: 10,000. */
    readonly cap?: number | undefined;
  } = {},
): StoreFacts => readFacts(withDeadlines(stateAdapter, storeDeadlineMs), cap);

/**
 * Looks for what slows or stops jobs: in the database, at leases, queues, failures, limits and recurring jobs. Never rejects
 * because of the store; a check that cannot be made is a finding.
 */
export const checkStore = async (
  stateAdapter: AnyStateAdapter,
  passed: ExamineStoreOptions = {},
): Promise<CheckResult[]> => {
  const options = requireOptions(passed, "checkStore", knownOptions);
  const stalledMs = optionalInteger(options.stalledMs, "stalledMs", 300_000, range);
  const transactionAgeMs = optionalInteger(options.transactionAgeMs, "transactionAgeMs", 60_000, range);
  const depth = requireOneOf(options.depth ?? "usual", "depth", ["light", "usual", "full"]);
  const repair = options.repair !== undefined && requireBoolean(options.repair, "repair");
  const storeDeadlineMs = optionalInteger(options.storeDeadlineMs, "storeDeadlineMs", 10_000, range);
  const workerless = new Set(passed.workerless);
  const facts = readStoreFacts(stateAdapter, { storeDeadlineMs });

  const findings = [...(await tryCheck("clock", () => checkClock(facts.store)))];
  const { diagnostics } = stateAdapter;
  if (diagnostics !== undefined) {
    // Without a deadline: reading a whole file takes as long as it takes.
    findings.push(...(await tryCheck("database", () => diagnostics.runChecks({ depth, transactionAgeMs }))));
  }
  // Without tables there are no jobs to look at.
  if (findings.some(({ check, status }) => check === "migrations" && status === "problem")) return findings;
  const checks: readonly (readonly [string, () => Promise<readonly CheckResult[]>])[] = [
    ["leases", () => checkLeases(facts)],
    ["queues", () => checkQueues(facts, { stalledMs, workerless })],
    ["failures", () => checkFailures(facts)],
    ["limits", () => repairCounters(facts, { counts: depth !== "light", repair })],
    ["recurring jobs", () => checkRecurringJobs(facts)],
    ["retention", () => checkRetention(facts)],
  ];
  for (const [check, run] of checks) findings.push(...(await tryCheck(check, run)));
  return findings;
};
