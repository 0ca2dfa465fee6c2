import { longestDurationMs, optionalInteger, requireInteger, requireName } from "../base/options.ts";
import { parseStoredError } from "../base/stored-error.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { oneOrMany } from "../jobs/filter.ts";
import type { FailedJobs, NewCause, StateCause } from "../store/contract/history.ts";
import { requirePart } from "../store/parts.ts";
import type { FailureCause, FailureCauseListing } from "./api.ts";
import { kindOfError } from "./fingerprint.ts";

const knownOptions = {
  queue: true,
  typeName: true,
  group: true,
  recurringJobId: true,
  scanLimit: true,
  everyMs: true,
} as const;

/** Failed jobs by what they failed from; those without an error of a handler by their reason. */
export const listFailureCauses = (engine: Engine, passed: unknown = {}): Promise<FailureCauseListing> =>
  operation(engine, "history.listCauses", passed, { options: knownOptions }, async ({ options, ctx }) => {
    const everyMs =
      options["everyMs"] === undefined
        ? undefined
        : requireInteger(options["everyMs"], "everyMs", { min: 60_000, max: longestDurationMs });
    const { failed, causes, capped } = await requirePart(
      engine.store,
      "history",
      "history.listCauses",
    ).listCauses({
      ctx,
      mayLag: true,
      cap: optionalInteger(options["scanLimit"], "scanLimit", 10_000, { min: 1, max: 100_000 }),
      queues: oneOrMany(options["queue"], "queue", requireName),
      typeNames: oneOrMany(options["typeName"], "typeName", requireName),
      groups: oneOrMany(options["group"], "group", requireName),
      recurringJobIds: oneOrMany(options["recurringJobId"], "recurringJobId", requireName),
      everyMs,
    });
    const groups = new Map<string, FailedJobs[]>();
    for (const jobs of failed) {
      const key = jobs.fingerprint ?? jobs.reason;
      groups.set(key, [...(groups.get(key) ?? []), jobs]);
    }
    const known = new Map<string, StateCause | NewCause>(causes.map((cause) => [cause.fingerprint, cause]));
    for (const cause of await describeUnknown(engine, ctx, groups, known))
      known.set(cause.fingerprint, cause);
    return {
      causes: [...groups]
        .map(([key, jobs]) => viewCause(jobs, known.get(key), everyMs))
        .sort((a, b) => b.count - a.count || b.lastFailedAt.getTime() - a.lastFailedAt.getTime()),
      capped,
    };
  });

/** What no process has reported, such as one that was killed, is read from a job that failed with it. */
const describeUnknown = async (
  engine: Engine,
  ctx: object | undefined,
  groups: ReadonlyMap<string, readonly FailedJobs[]>,
  known: ReadonlyMap<string, unknown>,
): Promise<NewCause[]> => {
  const unknown = [...groups.values()].flatMap(([first]) =>
    first!.fingerprint !== null && !known.has(first!.fingerprint) ? [first!] : [],
  );
  if (unknown.length === 0) return [];
  const jobs = await engine.store.getJobs({
    ctx,
    mayLag: true,
    jobIds: unknown.map(({ exampleId }) => exampleId),
  });
  return unknown.flatMap(({ fingerprint }, index) => {
    const error = parseStoredError(jobs[index]?.lastError ?? null);
    return error ? [{ ...kindOfError(error), fingerprint: fingerprint!, deployment: null }] : [];
  });
};

const trendOf = (jobs: readonly FailedJobs[], everyMs: number): NonNullable<FailureCause["trend"]> => {
  const counts = new Map<number, number>();
  for (const { firstFailedAt, count } of jobs) {
    const from = Math.floor(firstFailedAt / everyMs) * everyMs;
    counts.set(from, (counts.get(from) ?? 0) + count);
  }
  return [...counts].sort(([a], [b]) => a - b).map(([from, count]) => ({ from: new Date(from), count }));
};

/** A store that keeps stretches apart has several rows for the same queue, type and reason. */
const byKind = (jobs: readonly FailedJobs[]): FailureCause["jobs"] => {
  const kinds = new Map<string, FailureCause["jobs"][number]>();
  for (const { queue, typeName, reason, count, lastFailedAt } of jobs) {
    const key = JSON.stringify([queue, typeName, reason]);
    const known = kinds.get(key);
    const last = Math.max(known?.lastFailedAt.getTime() ?? 0, lastFailedAt);
    const all = (known?.count ?? 0) + count;
    kinds.set(key, { queue, typeName, reason, count: all, lastFailedAt: new Date(last) });
  }
  return [...kinds.values()].sort((a, b) => b.count - a.count);
};

const viewCause = (
  jobs: readonly FailedJobs[],
  cause: StateCause | NewCause | undefined,
  everyMs: number | undefined,
): FailureCause => {
  const latest = jobs.reduce((a, b) => (b.lastFailedAt > a.lastFailedAt ? b : a));
  return {
    fingerprint: latest.fingerprint,
    name: cause?.name ?? null,
    message: cause?.message ?? null,
    frame: cause?.frame ?? null,
    firstSeenAt: cause && "firstSeenAt" in cause ? new Date(cause.firstSeenAt) : null,
    firstDeployment: cause?.deployment ?? null,
    count: jobs.reduce((sum, { count }) => sum + count, 0),
    firstFailedAt: new Date(Math.min(...jobs.map(({ firstFailedAt }) => firstFailedAt))),
    lastFailedAt: new Date(latest.lastFailedAt),
    exampleId: latest.exampleId,
    ...(everyMs !== undefined && { trend: trendOf(jobs, everyMs) }),
    jobs: byKind(jobs),
  };
};
