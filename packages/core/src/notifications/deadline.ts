import { settleWithin, systemClock } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";

/** The broker did not answer in time. */
export class BrokerTimeoutError extends LeaseholdError {
  readonly timeoutMs: number;
  constructor(what: string, timeoutMs: number) {
    super("BrokerTimeout", `${what} took longer than ${timeoutMs} ms.`);
    this.timeoutMs = timeoutMs;
  }
}

/** Stops waiting, not the work: a broker's client cannot take a command back. */
export const withDeadline = <T>(work: Promise<T>, ms: number, what: string): Promise<T> =>
  settleWithin(systemClock, ms, work, () => new BrokerTimeoutError(what, ms));
