import { requireInteger, requireNestedOptions } from "../base/options.ts";

/**
 * How long finished jobs are kept. Workers remove a tree of sequences in the background once everything in it has
 * finished and is past its time, and nothing outside waits for it.
 */
export interface RetentionOptions {
  /**
   * After a sequence has completed. `null`: no limit. 0: a job that nothing else needs is deleted as it completes, so that a process
   * that waits for it may not find it any more. Default: the instance's value, else no limit.
   */
  readonly completedMs?: number | null | undefined;
  /** After a sequence has failed. `null`: no limit. Default: the instance's value, else no limit. */
  readonly failedMs?: number | null | undefined;
}

const limits = { min: 0, max: Number.MAX_SAFE_INTEGER };

export const parseRetention = (value: unknown, option: string): RetentionOptions => {
  const { completedMs, failedMs } = requireNestedOptions<keyof RetentionOptions>(value, option, {
    completedMs: true,
    failedMs: true,
  });
  const read = (given: unknown, name: string): number | null | undefined =>
    given === undefined || given === null ? given : requireInteger(given, `${option}.${name}`, limits);
  return Object.freeze({
    completedMs: read(completedMs, "completedMs"),
    failedMs: read(failedMs, "failedMs"),
  });
};
