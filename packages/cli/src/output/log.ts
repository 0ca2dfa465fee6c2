import type { Log, LogLevel } from "leasehold";
import type { Output } from "./output.ts";
import { oneLine, printable } from "./printable.ts";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const describe = (error: unknown): object => {
  try {
    return error instanceof Error
      ? { name: error.name, message: error.message, stack: error.stack }
      : { message: String(error) };
  } catch {
    return { message: "an error that cannot be printed" };
  }
};

/** Events of a worker: a line each for people on stderr, a JSON document each for programs on stdout. */
export const createLog = (output: Output, level: LogLevel): Log => {
  const { colours } = output;
  const paint = { debug: colours.dim, info: colours.cyan, warn: colours.yellow, error: colours.red };
  return (entry) => {
    if (levels.indexOf(entry.level) < levels.indexOf(level)) return;
    const at = new Date().toISOString();
    const { error, ...data } = entry.data as unknown as Record<string, unknown>;
    const described = error === undefined || error === null ? undefined : describe(error);
    if (output.json) {
      output.printJson({
        at,
        level: entry.level,
        event: entry.event,
        message: entry.message,
        data,
        error: described,
      });
      return;
    }
    const fields = ["typeName", "id", "workerId", "attempt", "queue", "reason", "operation"]
      .filter((key) => data[key] !== undefined && data[key] !== null)
      .map((key) => `${key}=${oneLine(String(data[key]))}`);
    const text =
      described === undefined ? "" : `\n  ${printable((described as { message: string }).message)}`;
    const stamp = colours.dim(at.slice(11, 23));
    output.note(
      `${stamp} ${paint[entry.level](entry.level.padEnd(5))} ${entry.message} ${colours.dim(fields.join(" "))}${text}`,
    );
  };
};
