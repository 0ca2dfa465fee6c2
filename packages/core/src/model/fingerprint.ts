import { createHash } from "node:crypto";
import { commonMessage } from "./fingerprint/common-message.ts";
import { ownFrame } from "./fingerprint/own-frame.ts";
import type { StoredError } from "./stored-error.ts";

/** What errors of the same kind have in common. */
export interface ErrorKind {
  /** Sixteen hexadecimal digits, the same for all errors of the kind. */
  readonly fingerprint: string;
  readonly name: string;
  /** With `#` for ids and numbers, and other placeholders for what differs from one error to the next. */
  readonly message: string;
  /** The function and file that it came from. */
  readonly frame: string | null;
}

const mostCauses = 4;
const longestName = 100;
const longestFrame = 200;

/** A process whose directory was deleted has none. */
const readWorkingDirectory = (): string => {
  try {
    return process.cwd();
  } catch {
    return "";
  }
};

/**
 * Two errors are of the same kind if they and what caused them have the same names and codes, say the same apart from ids and
 * other data, and came from the same functions. Lines do not count, so most changes of a program do not change its kinds.
 */
export const kindOfError = (
  error: StoredError,
  workingDirectory: string = readWorkingDirectory(),
): ErrorKind => {
  const traits: (string | null)[] = [];
  let first: Omit<ErrorKind, "fingerprint"> | undefined;
  let current: StoredError | undefined = error;
  for (let depth = 0; current && depth <= mostCauses; depth++) {
    const name = current.name.slice(0, longestName);
    const message = commonMessage(current.message);
    const frame = ownFrame(current, workingDirectory)?.slice(0, longestFrame) ?? null;
    first ??= { name, message, frame };
    traits.push(name, current.code?.slice(0, longestName) ?? null, message, frame);
    current = current.cause;
  }
  const fingerprint = createHash("sha256").update(JSON.stringify(traits)).digest("hex").slice(0, 16);
  return { fingerprint, ...first! };
};
