import { collapseRepeats, type Log, type LogEntry, type LogLevel } from "leasehold";
import { formatDuration, plural } from "leasehold/adapter";
import { ownFrames } from "./errors.ts";
import type { Output } from "./output.ts";
import { oneLine, printable } from "./text.ts";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

interface ErrorText {
  readonly name?: string | undefined;
  readonly message: string;
  readonly stack?: string | undefined;
}

/** Only these: the other properties of a driver's error hold the row that it was about, and so a job's input. */
const describe = (error: unknown): ErrorText => {
  try {
    if (typeof error !== "object" || error === null || !("message" in error))
      return { message: String(error) };
    const { name, message, stack } = error as Record<string, unknown>;
    return {
      name: typeof name === "string" ? name : undefined,
      message: String(message),
      stack: typeof stack === "string" ? stack : undefined,
    };
  } catch {
    return { message: "an error that cannot be printed" };
  }
};

const shownFields = ["typeName", "id", "workerId", "attempt", "queue", "reason", "operation"];
// A failed attempt is printed with the place where it was thrown. An unreachable store needs no stack.
const eventsWithFrames = new Set(["jobAttemptFailed", "jobAttemptErrorAfterCompletion", "workerError"]);

/** Beyond so many jobs in a second, only their number is printed. */
const mostLinesPerSecond = 20;

/** How long attempts take, by the events of their beginning and end. */
const createStopwatch = (): ((entry: LogEntry) => number | undefined) => {
  const began = new Map<string, number>();
  return ({ event, data }) => {
    const { id } = data as { readonly id?: string };
    if (!event.startsWith("jobAttempt") || id === undefined) return undefined;
    const at = performance.now();
    const before = began.get(id);
    if (event === "jobAttemptStarted") began.set(id, at);
    else began.delete(id);
    return before === undefined ? undefined : at - before;
  };
};

/** Limits the lines per second, then reports how many were left out. */
const createBrake = (tell: (count: number) => void): { admits(): boolean } => {
  let lines = 0;
  let timer: NodeJS.Timeout | undefined;
  const turn = (): void => {
    timer = undefined;
    if (lines > mostLinesPerSecond) tell(lines - mostLinesPerSecond);
    lines = 0;
  };
  return {
    admits: () => {
      timer ??= setTimeout(turn, 1_000).unref();
      lines += 1;
      return lines <= mostLinesPerSecond;
    },
  };
};

/** Events of a worker: a line each for people on stderr, a JSON document each for programs on stdout. */
export const createLog = (
  output: Output,
  level: LogLevel,
  {
    debug = false,
    isTerminal = process.stderr.isTTY,
  }: { readonly debug?: boolean; readonly isTerminal?: boolean } = {},
): Log => {
  const { colours } = output;
  const paint = { debug: colours.dim, info: colours.cyan, warn: colours.yellow, error: colours.red };
  const isShown = (of: LogLevel): boolean => levels.indexOf(of) >= levels.indexOf(level);
  const stopwatch = createStopwatch();

  const print = (of: LogLevel, text: string, fields = "", below = ""): void => {
    const at = new Date().toISOString();
    // In a terminal the day is known.
    const stamp = colours.dim(isTerminal ? at.slice(11, 23) : at);
    output.note(`${stamp} ${paint[of](of.padEnd(5))} ${text} ${colours.dim(fields)}`.trimEnd() + below);
  };
  const brake = createBrake((count) => print("info", `… and ${plural(count, "more job")} completed`));

  const write: Log = (entry) => {
    const durationMs = stopwatch(entry);
    // The log of a worker shows completed jobs, too.
    const ran = entry.event === "jobAttemptCompleted";
    const shownAt = ran ? "info" : entry.level;
    if (!isShown(shownAt)) return;
    const { error, ...data } = entry.data as unknown as Record<string, unknown>;
    const described = error === undefined || error === null ? undefined : describe(error);
    if (output.json) {
      const { event, message } = entry;
      output.printJson({
        at: new Date().toISOString(),
        level: shownAt,
        event,
        message,
        data,
        durationMs,
        error: described,
      });
      return;
    }
    if (ran && !isShown("debug") && !brake.admits()) return;
    const fields = shownFields
      .filter((key) => data[key] !== undefined && data[key] !== null)
      .map((key) => `${key}=${oneLine(String(data[key]))}`);
    const took = durationMs === undefined ? "" : ` in ${formatDuration(durationMs)}`;
    const text = ran ? `Job completed${took}` : entry.message;
    const errorLines =
      described === undefined
        ? []
        : [
            `${described.name === undefined ? "" : `${described.name}: `}${described.message}`,
            ...(debug
              ? (described.stack ?? "")
                  .split("\n")
                  .filter((line) => /^\s+at /.test(line))
                  .map((line) => `  ${line.trim()}`)
              : eventsWithFrames.has(entry.event)
                ? ownFrames(described.stack ?? "").map((line) => `  ${line}`)
                : []),
          ];
    print(shownAt, text, fields.join(" "), errorLines.map((line) => `\n  ${printable(line)}`).join(""));
  };

  // In an outage every call of every loop fails, again and again. Programs count for themselves.
  const collapsed = collapseRepeats(write);
  return (entry) => (output.json || entry.event.startsWith("job") ? write(entry) : collapsed(entry));
};
