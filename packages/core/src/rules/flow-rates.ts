import type { FlowRate } from "../model/flow-rule.ts";

/*
 * Rates are token buckets in the form of GCRA: all that is stored is the moment `tat` (theoretical arrival time) at which
 * the bucket would be full again, in whole microseconds by the store's clock. A new bucket has 0.
 *
 *   interval = ceil(perMs * 1000 / (limit - burst + 1))
 *   tokens   = floor((now + burst * interval - max(tat, now)) / interval)
 *   spend n:   tat = max(tat, now) + n * interval
 *
 * In a window of `perMs` the bucket gives at most `burst` at once and then one for each interval, which is `limit` in all.
 * Stores that decide inside a statement repeat these three lines there.
 */

/** Microseconds between two tokens. */
export const tokenInterval = ({ limit, perMs, burst }: FlowRate): number =>
  Math.ceil((perMs * 1_000) / (limit - burst + 1));

/** Tokens left at this moment. */
export const tokensLeft = (rate: FlowRate, tat: number, nowMs: number): number => {
  const interval = tokenInterval(rate);
  const now = nowMs * 1_000;
  return Math.max(0, Math.floor((now + rate.burst * interval - Math.max(tat, now)) / interval));
};

/** The `tat` after so many tokens have been spent. */
export const spendTokens = (rate: FlowRate, tat: number, nowMs: number, count: number): number =>
  Math.max(tat, nowMs * 1_000) + count * tokenInterval(rate);

/** From when on, in milliseconds, there is a token again. */
export const nextTokenAt = (rate: FlowRate, tat: number, nowMs: number): number =>
  Math.max(nowMs, Math.ceil((tat - (rate.burst - 1) * tokenInterval(rate)) / 1_000));

/** The `tat` of a bucket whose rate has been edited: what was spent stays spent, but it owes nothing beyond being empty. */
export const keepSpent = (rate: FlowRate, tat: number, nowMs: number): number =>
  Math.min(tat, nowMs * 1_000 + rate.burst * tokenInterval(rate));
