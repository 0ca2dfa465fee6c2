/**
 * What became of a time. `started`: a job, on time. `caught_up`: a job, late. `skipped`: none, because the last sequence had
 * not finished. `dropped`: none, because it was missed and is not made up for.
 */
export const tickResults = ["started", "caught_up", "skipped", "dropped"] as const;
export type TickResult = (typeof tickResults)[number];

export interface RecordedTick {
  readonly result: TickResult;
  readonly nominalAt: number;
  /** When that was decided. */
  readonly at: number;
  /** Of `dropped`: how many times in a row, the last of which is `nominalAt`. Counted up to 1,000. */
  readonly count: number;
  /** The sequence that was started; of `skipped`, the one that had not finished. */
  readonly sequenceId: string | null;
  /** Asked for by `triggerRecurringJob`, and not a time of the definition. */
  readonly triggered: boolean;
}

/** A run that waits until the last sequence has finished. */
export interface WaitingRun {
  readonly nominalAt: number;
  readonly missed: number;
  readonly triggered: boolean;
}

export interface TickRecord {
  readonly counts: Readonly<Record<TickResult, number>>;
  /** The latest ones, the newest first. */
  readonly recent: readonly RecordedTick[];
  readonly waiting: WaitingRun | null;
}

export const emptyRecord: TickRecord = {
  counts: { started: 0, caught_up: 0, skipped: 0, dropped: 0 },
  recent: [],
  waiting: null,
};

const mostRecent = 20;

export const addToRecord = (record: TickRecord, ticks: readonly RecordedTick[]): TickRecord => {
  const counts = { ...record.counts };
  for (const { result, count } of ticks) counts[result] += count;
  return { ...record, counts, recent: [...ticks.toReversed(), ...record.recent].slice(0, mostRecent) };
};

export const writeRecord = (record: TickRecord): string => JSON.stringify(record);

export const readRecord = (text: string): TickRecord => ({
  ...emptyRecord,
  ...(JSON.parse(text) as Partial<TickRecord>),
});
