import { requireOneOf, requireOptions } from "../base/options.ts";
import type { LeaseholdEventName, LeaseholdEvents } from "./events.ts";

/** How serious an entry of the log is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** An event with its level and its fields. */
export type LogEntry = {
  [TName in LeaseholdEventName]: {
    readonly level: LogLevel;
    readonly event: TName;
    readonly message: string;
    /** Ids, names and numbers; never an input, an output or a connection string. */
    readonly data: LeaseholdEvents[TName];
  };
}[LeaseholdEventName];

/** Receives one entry for each event. */
export type Log = (entry: LogEntry) => void;

/**
 * The logged events with level and message. Other events are for metrics only. `once`: each Leasehold instance logs
 * only the first one.
 */
export const loggedEvents: {
  readonly [TName in LeaseholdEventName]?: readonly [level: LogLevel, message: string, times?: "once"];
} = {
  workerStarted: ["info", "Worker started"],
  workerError: ["error", "Worker loop failed and goes on"],
  workerStopping: ["info", "Worker stopping"],
  workerStopped: ["info", "Worker stopped"],
  jobCreated: ["debug", "Job created"],
  jobSequenceCreated: ["debug", "Job sequence created"],
  jobBlocked: ["debug", "Job blocked"],
  jobUnblocked: ["debug", "Job unblocked"],
  jobCompleted: ["debug", "Job completed"],
  jobFailed: ["error", "Job failed for good"],
  jobCancelled: ["info", "Job cancelled"],
  jobUpdated: ["debug", "Waiting job changed"],
  jobRedriven: ["info", "Job redriven"],
  jobDeleted: ["debug", "Job deleted"],
  jobReaped: ["warn", "Expired lease reclaimed"],
  jobSequenceCompleted: ["debug", "Job sequence completed"],
  jobSequenceFailed: ["error", "Job sequence failed"],
  jobAttemptStarted: ["debug", "Attempt started"],
  jobAttemptCompleted: ["debug", "Attempt completed"],
  jobAttemptFailed: ["warn", "Attempt failed"],
  jobAttemptRescheduled: ["debug", "Attempt rescheduled"],
  jobAttemptTimedOut: ["warn", "Attempt timed out"],
  jobAttemptTakenByAnotherWorker: ["warn", "Job taken by another worker"],
  jobAttemptAlreadyCompleted: ["info", "Job already completed elsewhere"],
  jobAttemptLeaseExpired: ["warn", "Lease expired"],
  jobAttemptFenced: ["warn", "Stale outcome refused"],
  jobAttemptStuck: ["error", "Handler ignores its signal"],
  jobAttemptLateResult: ["warn", "Late result dropped"],
  jobAttemptTransactionRepeated: ["info", "Transaction rolled back by the store and run again"],
  jobAttemptReleased: ["warn", "Transaction rolled back by the store, job given back"],
  jobAttemptErrorAfterCompletion: ["error", "Handler failed after its job was completed"],
  recurringJobTicked: ["debug", "Recurring job ticked"],
  recurringJobFailed: ["error", "Recurring job could not start its job"],
  storeClockSetBack: ["warn", "Clock of the store was set back"],
  notifyContextAbsence: [
    "warn",
    "No notification was sent, so workers find the job at their next poll: it was started in a transaction that Leasehold " +
      "does not commit. Use leasehold.runInTransaction, or put leasehold.withNotify around the transaction. " +
      "This is said once",
    "once",
  ],
  notifyAdapterError: ["warn", "Notification failed"],
  stateAdapterError: ["error", "Store call failed"],
};

const errorText = (error: unknown): string => {
  try {
    return String(error instanceof Error ? (error.stack ?? error.message) : error);
  } catch {
    return "an error that cannot be printed";
  }
};

const levelOrder: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Options of `createConsoleLog`. */
export interface ConsoleLogOptions {
  /** What is less urgent is not printed. Default: `"info"`. */
  readonly level?: LogLevel;
}

/** Said by another entry as well, which comes with it. */
const isRepetition = (entry: LogEntry): boolean =>
  entry.event === "jobSequenceFailed" ||
  (entry.event === "jobAttemptFailed" && entry.data.retryInMs === null);

const print: Log = (entry) => {
  const fields = Object.entries(entry.data)
    .filter(([key, value]) => key !== "error" && value !== null)
    .map(([key, value]) => `${key}=${String(value)}`);
  const { error } = entry.data as { readonly error?: unknown };
  const text = error === undefined || error === null ? "" : `\n${errorText(error)}`;
  const at = new Date().toISOString();
  console[entry.level](`${at} [leasehold] ${entry.level} ${entry.message} ${fields.join(" ")}${text}`);
};

/**
 * A logger for development: an entry for each event, errors with their stack. A failure is printed once,
 * although it is several events. Repeated warnings and errors are counted.
 */
export const createConsoleLog = (options: ConsoleLogOptions = {}): Log => {
  const { level = "info" } = requireOptions<keyof ConsoleLogOptions>(options, "createConsoleLog", {
    level: true,
  });
  const least = levelOrder.indexOf(requireOneOf(level, "level", levelOrder));
  const write = collapseRepeats(print);
  return (entry) => {
    if (levelOrder.indexOf(entry.level) >= least && !isRepetition(entry)) write(entry);
  };
};

const windowMs = 10_000;
// Beyond that, entries differ too much for counting them to make anything shorter.
const mostCounted = 1_000;

interface Repeats {
  last: LogEntry;
  count: number;
}

const subjectOf = (data: object): string => {
  const { operation, loop, typeName, reason, error } = data as Record<string, unknown>;
  // Texts of errors differ in ids and numbers from one time to the next; their kind does not.
  const { name, code } = (error instanceof Error ? error : {}) as { name?: unknown; code?: unknown };
  return JSON.stringify([operation, loop, typeName, reason, name, code].map(String));
};

const keyOf = ({ event, data }: LogEntry): string => {
  try {
    return `${event} ${subjectOf(data)}`;
  } catch {
    return event;
  }
};

/**
 * Logs the first of equal warnings or errors, and ten seconds later one entry with the number of repetitions. An
 * outage of the store does not fill the disk.
 */
export const collapseRepeats = (log: Log): Log => {
  const open = new Map<string, Repeats>();

  const summarise = (key: string): void => {
    const { last, count } = open.get(key)!;
    open.delete(key);
    if (count === 0) return;
    const message = `${last.message} (and ${count - 1} more like it in ${windowMs / 1_000} s)`;
    log(count === 1 ? last : { ...last, message });
  };

  return (entry) => {
    if (entry.level !== "warn" && entry.level !== "error") {
      log(entry);
      return;
    }
    const key = keyOf(entry);
    const repeats = open.get(key);
    if (repeats) {
      repeats.last = entry;
      repeats.count += 1;
      return;
    }
    log(entry);
    if (open.size >= mostCounted) return;
    open.set(key, { last: entry, count: 0 });
    // It must not keep a process alive that has nothing else to do.
    setTimeout(summarise, windowMs, key).unref();
  };
};
