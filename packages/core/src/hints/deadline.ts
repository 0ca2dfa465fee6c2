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
export const withDeadline = async <T>(work: Promise<T>, ms: number, what: string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new BrokerTimeoutError(what, ms)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
};
