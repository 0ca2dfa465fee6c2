import type { Clock } from "../clock.ts";
import { cut } from "../model/stored-error.ts";

/** What a handler calls as `log`. */
export type WriteLog = (text: unknown, data?: unknown) => void;

/** The last lines that an attempt has logged. */
export interface AttemptLog {
  readonly write: WriteLog;
  /** All lines as text to be stored; null if there is none. */
  toText(): string | null;
}

const mostLines = 100;
const mostBytes = 16 * 1_024;
const longestText = 2_000;
const longestData = 4_000;

/** Values change, so they are written down at once; and nothing about them may be the end of the job. */
const encodeData = (data: unknown): string | undefined => {
  try {
    const text = JSON.stringify(data) as string | undefined;
    return text !== undefined && text.length > longestData ? JSON.stringify(cut(text, longestData)) : text;
  } catch {
    return '"(not JSON)"';
  }
};

const readText = (text: unknown): string => {
  try {
    return cut(String(text), longestText);
  } catch {
    return "(not a text)";
  }
};

export const createAttemptLog = (clock: Clock): AttemptLog => {
  /** Each a JSON array: when, the text, and the data if there is any. */
  const lines: string[] = [];
  const sizes: number[] = [];
  let bytes = 0;

  return {
    write: (text, data) => {
      const encoded = encodeData(data);
      const start = `[${Math.round(clock.now())},${JSON.stringify(readText(text))}`;
      const line = encoded === undefined ? `${start}]` : `${start},${encoded}]`;
      const size = Buffer.byteLength(line) + 1;
      lines.push(line);
      sizes.push(size);
      bytes += size;
      while (lines.length > mostLines || bytes >= mostBytes) {
        lines.shift();
        bytes -= sizes.shift()!;
      }
    },
    toText: () => (lines.length === 0 ? null : `[${lines.join(",")}]`),
  };
};
