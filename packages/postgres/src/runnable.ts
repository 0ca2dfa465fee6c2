import type { MaxAttempts } from "leasehold/adapter";
import { arrayLiteral } from "./sql/array-literal.ts";
import { now } from "./sql/clock.ts";

// Which jobs can be claimed. A job is runnable when it
//
//   - is pending, and its time has come, or
//   - is running, its lease has expired, and it has attempts left.
//
// That time, and the end of that lease, is `due_at`. The column `ready` marks the jobs that are in line: one index has
// those of each queue and type in the order in which they run. Jobs for later are not in line, and running jobs are not;
// they are put in line when somebody notices that their time has come (promotion.ts). So there are three places to look:
//
//   in line    ready                    index job_ready (lane, priority DESC, due_at, position)
//   deferred   pending and not ready    index job_deferred (lane, due_at); with a group, job_deferred_home (home, due_at)
//   leased     running                  index job_running (due_at)
//
// Every statement that asks for runnable jobs takes its conditions from this file. A queue with rules or groups is asked
// through functions of the database (migrations/flow-functions.ts), which repeat them: a function that was released does not
// change when this file does. There a limit, a pause, or the order of a group may keep a job from running. The conditions are about a job `j` unless another name is given.

/** The order in which the jobs of one queue and type run. */
export const runOrder = "priority DESC, due_at, position";

/** Whether one job runs before another when both are runnable. */
export const runsBeforeSql = (job: string, other: string): string =>
  `(${job}.priority > ${other}.priority
    OR (${job}.priority = ${other}.priority AND (${job}.due_at, ${job}.position) < (${other}.due_at, ${other}.position)))`;

export const isDue: string = `j.due_at <= ${now}`;

/** In line, of one queue and type. All of these are due, unless the clock has gone back since. */
export const inLineSql = (lane: string): string => `j.ready AND j.lane = ${lane}`;

export const runnableInLineSql = (lane: string): string => `${inLineSql(lane)} AND ${isDue}`;

export const isDeferred = "j.status = 'pending' AND NOT j.ready";

/** Of one queue and type, and runnable as soon as it is due. */
export const deferredSql = (lane: string): string => `${isDeferred} AND j.lane = ${lane}`;

/** The same for jobs with a group: of one queue and type, whatever their groups. */
export const deferredInGroupsSql = (home: string): string =>
  `${isDeferred} AND j.home IS NOT NULL AND j.home = ${home}`;

/** Of the queues and types in `$2`, and runnable as soon as the lease has expired. */
export const leasedSql = (attemptsLeft: string): string =>
  `j.status = 'running' AND ${attemptsLeft} AND j.lane = ANY ($2::bigint[])`;

export const isExpired: string = `j.status = 'running' AND ${isDue}`;

/** In an ordered group, and has begun: the others of the group wait for it although it is not due. */
export const waitsForRetrySql = (job: string): string =>
  `(${job}.ordered IS NOT NULL AND ${job}.status = 'pending' AND NOT ${job}.ready AND ${job}.lease_version > 0)`;

/**
 * Whether a job whose lease has expired may be claimed again. A handler may have its own number of attempts for its type,
 * which counts unless the start asked for one: `override` finds it, null where there is none.
 */
export const attemptsLeftSql = (job: string, override?: string): string =>
  override === undefined
    ? `${job}.attempt < ${job}.max_attempts`
    : `${job}.attempt < CASE WHEN ${job}.max_attempts_given = false
        THEN coalesce(${override}, ${job}.max_attempts) ELSE ${job}.max_attempts END`;

/** The numbers of attempts that handlers have, for a statement with a list of queues and types in `$2`. */
export interface AttemptOverrides {
  /** One list beside that of `$2`, if any of those types has a number. The statement is another one then. */
  readonly params: readonly string[];
  /** Tells the two statements apart. */
  readonly suffix: string;
  /** The condition, with the list as this parameter. */
  attemptsLeft(parameter: string): string;
}

export const readAttemptOverrides = (
  queueTypes: readonly { readonly typeName: string }[],
  maxAttempts: MaxAttempts = {},
): AttemptOverrides => {
  const overrides = queueTypes.map(({ typeName }) =>
    Object.hasOwn(maxAttempts, typeName) ? (maxAttempts[typeName] ?? null) : null,
  );
  if (overrides.every((override) => override === null))
    return { params: [], suffix: "", attemptsLeft: () => attemptsLeftSql("j") };
  return {
    params: [arrayLiteral(overrides)],
    suffix: "_overridden",
    attemptsLeft: (parameter) =>
      attemptsLeftSql("j", `(${parameter}::int[])[array_position($2::bigint[], j.lane)]`),
  };
};
