import type { TickResult } from "../observability/events.ts";
import { onTimeMs, type RecurrencePolicies } from "./definition.ts";
import { type ClockSetBack, jitteredTime, type Timetable } from "./timetable.ts";

export interface RecordedTick {
  readonly result: TickResult;
  readonly nominalAt: number;
  /** When that was decided. */
  readonly at: number;
  /** Of `dropped`: how many times in a row, the last of which is `nominalAt`. Counted up to 1,000. */
  readonly count: number;
  /** The sequence that was started; of `skipped`, the one that had not finished. */
  readonly sequenceId: string | null;
  /** Asked for by `recurring.trigger`, and not a time of the definition. */
  readonly triggered: boolean;
}

/** A run that waits until the last sequence has finished. */
export interface WaitingRun {
  readonly nominalAt: number;
  readonly missed: number;
  readonly triggered: boolean;
}

/** Why the job could not be started at the last tries. */
export interface StartFailure {
  /** The first of these tries. */
  readonly since: number;
  readonly tries: number;
  readonly error: { readonly name: string; readonly message: string };
}

export interface TickHistory {
  readonly counts: Readonly<Record<TickResult, number>>;
  /** The latest ones, the newest first. */
  readonly recent: readonly RecordedTick[];
  readonly waiting: WaitingRun | null;
  /** Null once a tick has succeeded. */
  readonly failure: StartFailure | null;
  /** The last one; null if there has been none. */
  readonly setBack: ClockSetBack | null;
}

export const emptyTickHistory: TickHistory = {
  counts: { started: 0, caught_up: 0, skipped: 0, dropped: 0 },
  recent: [],
  waiting: null,
  failure: null,
  setBack: null,
};

const mostRecent = 20;

export const addTicks = (tickHistory: TickHistory, ticks: readonly RecordedTick[]): TickHistory => {
  const counts = { ...tickHistory.counts };
  for (const { result, count } of ticks) counts[result] += count;
  return {
    ...tickHistory,
    counts,
    recent: [...ticks.toReversed(), ...tickHistory.recent].slice(0, mostRecent),
  };
};

export const writeTickHistory = (tickHistory: TickHistory): string => JSON.stringify(tickHistory);

export const readTickHistory = (text: string): TickHistory => ({
  ...emptyTickHistory,
  ...(JSON.parse(text) as Partial<TickHistory>),
});

/** How many times are made up for, or counted as dropped, in one tick. */
const mostTimesATick = 1_000;
/** How soon to look again whether the run that another one waits for has finished. */
const recheckMs = 1_000;

export interface Run {
  readonly nominalAt: number;
  readonly missed: number;
  readonly triggered: boolean;
}

export interface TickInput {
  readonly id: string;
  readonly policies: RecurrencePolicies;
  readonly timetable: Timetable;
  /** The first time that has not been decided on. */
  readonly nextNominalAt: number | null;
  readonly waiting: WaitingRun | null;
  /** The last sequence, if it has not finished. */
  readonly unfinishedSequenceId: string | null;
  readonly now: number;
}

export interface TickDecision {
  /** In order; each becomes a job. */
  readonly runs: readonly (Run & { readonly result: "started" | "caught_up" })[];
  /** The times that get no job, with the reason. */
  readonly withoutJob: readonly RecordedTick[];
  /** Whether the last sequence is to be cancelled first. */
  readonly cancelsLast: boolean;
  readonly waiting: WaitingRun | null;
  readonly nextNominalAt: number | null;
  readonly runsAt: number | null;
}

/**
 * What is due by now, as `catchUp` has it: the runs that are wanted, and the times that are dropped. Unless `catchUp` is
 * "all", a time that a later one has overtaken is dropped, however short the gap was.
 */
interface DueTimes {
  readonly wanted: readonly Run[];
  readonly dropped: readonly { readonly nominalAt: number; readonly count: number }[];
  readonly nextNominalAt: number | null;
}

export const runTimeOf = (
  { id, timetable, policies }: Pick<TickInput, "id" | "timetable" | "policies">,
  nominalAt: number,
): number =>
  policies.jitterMs === 0
    ? nominalAt
    : jitteredTime(id, nominalAt, policies.jitterMs, timetable.next(nominalAt));

/** The last time that is due, with its jitter. */
const findLatestDue = (question: TickInput, from: number): number | null => {
  const { timetable, now } = question;
  const latest = timetable.latest(from - 1, now);
  if (latest === null || runTimeOf(question, latest) <= now) return latest;
  // Jitter ends before the next time, so the one before has certainly come.
  return timetable.latest(from - 1, latest - 1);
};

const findDueTimes = (question: TickInput): DueTimes => {
  const { timetable, policies, nextNominalAt: first, now } = question;
  const latest = first === null ? null : findLatestDue(question, first);
  if (first === null || latest === null) return { wanted: [], dropped: [], nextNominalAt: first };

  const drop = (from: number, until: number): DueTimes["dropped"] => {
    const last = timetable.latest(from - 1, until);
    if (last === null) return [];
    return [{ nominalAt: last, count: timetable.count(from - 1, until, mostTimesATick) }];
  };

  if (policies.catchUp === "all") {
    const oldest = Math.max(first, now - policies.catchUpWindowMs);
    const wanted: Run[] = [];
    let next = timetable.next(oldest - 1);
    while (next !== null && next <= latest && wanted.length < mostTimesATick) {
      wanted.push({ nominalAt: next, missed: 0, triggered: false });
      next = timetable.next(next);
    }
    return { wanted, dropped: oldest > first ? drop(first, oldest - 1) : [], nextNominalAt: next };
  }

  const acceptableMs = policies.catchUp === "none" ? onTimeMs : policies.catchUpWindowMs;
  const isWanted = now - runTimeOf(question, latest) <= acceptableMs;
  const dropped = drop(first, isWanted ? latest - 1 : latest);
  const missed = dropped[0]?.count ?? 0;
  return {
    wanted: isWanted ? [{ nominalAt: latest, missed, triggered: false }] : [],
    dropped,
    nextNominalAt: timetable.next(latest),
  };
};

/** What a tick does with one recurring job. The same input gives the same answer in every process. */
export const decideTick = (question: TickInput): TickDecision => {
  const { now } = question;
  const due = findDueTimes(question);
  const decision = decideRuns(question, due.wanted);
  const dropped = due.dropped.map((drop): RecordedTick => ({
    ...drop,
    result: "dropped",
    at: now,
    sequenceId: null,
    triggered: false,
  }));
  const regular = due.nextNominalAt === null ? null : runTimeOf(question, due.nextNominalAt);
  const recheck = decision.waiting === null ? null : now + recheckMs;
  return {
    ...decision,
    withoutJob: [...dropped, ...decision.withoutJob],
    nextNominalAt: due.nextNominalAt,
    runsAt: regular === null || recheck === null ? (regular ?? recheck) : Math.min(regular, recheck),
  };
};

/** Holds the runs that are wanted against the `overlap` policy, one after the other. */
export const decideRuns = (
  question: TickInput,
  wanted: readonly Run[],
): Pick<TickDecision, "runs" | "withoutJob" | "cancelsLast" | "waiting"> => {
  const { policies, now, unfinishedSequenceId } = question;
  const runs: TickDecision["runs"][number][] = [];
  const withoutJob: RecordedTick[] = [];
  let isBusy = unfinishedSequenceId !== null;
  let cancelsLast = false;
  let waiting = question.waiting;

  const start = (run: Run): void => {
    const isLate = !run.triggered && now - runTimeOf(question, run.nominalAt) > onTimeMs;
    runs.push({ ...run, result: isLate ? "caught_up" : "started" });
    isBusy = true;
  };

  if (waiting !== null && !isBusy) {
    start(waiting);
    waiting = null;
  }
  for (const run of wanted) {
    if (!isBusy || policies.overlap === "allow") start(run);
    else if (policies.overlap === "replace") {
      cancelsLast = unfinishedSequenceId !== null;
      start(run);
    } else if (policies.overlap === "queue_one" && waiting === null) waiting = run;
    else {
      const { nominalAt, triggered } = run;
      withoutJob.push({
        result: "skipped",
        nominalAt,
        at: now,
        count: 1,
        sequenceId: unfinishedSequenceId,
        triggered,
      });
    }
  }
  return { runs, withoutJob, cancelsLast, waiting };
};
