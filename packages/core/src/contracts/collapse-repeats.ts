import type { Log, LogEntry } from "./log.ts";

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
 * Passes on the first of several warnings or errors that say the same, and instead of the others, ten seconds later, one
 * that says how many there were. So an outage of the store fills no disk.
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
