import { createHash } from "node:crypto";
import type { StoredError } from "../base/stored-error.ts";
import type { ErrorKind } from "../engine/engine.ts";
import { commonFileName, commonMessage } from "./common-message.ts";

const mostLines = 100;

const longestLine = 1_000;
/** Distinguishes files of the same name, and does not depend on where the program is installed. */
const mostFolders = 3;

const mostFoldersElsewhere = 2;

const isForeign = (file: string): boolean =>
  /[\\/]node_modules[\\/]|^node:|^native$|^<anonymous>$|^index \d+$|^eval at /.test(file);

/** `src/charge.ts` of `file:///srv/shop/src/charge.ts?v=2:10:5`. */
const shortFile = (location: string, workingDirectory: string): string => {
  const path = location
    .replace(/:\d+(?::\d+)?$/, "")
    .replace(/^file:\/\//, "")
    .replace(/[?#].*$/, "")
    .replaceAll("\\", "/");
  const directory = workingDirectory.replaceAll("\\", "/").replace(/\/$/, "");
  const isBelow = directory !== "" && path.startsWith(`${directory}/`);
  const parts = (isBelow ? path.slice(directory.length + 1) : path).split("/").filter((part) => part !== "");
  return parts
    .slice(isBelow ? -mostFolders : -mostFoldersElsewhere)
    .map(commonFileName)
    .join("/");
};

/** `at async Shop.charge [as run] (file:10:5)`, or `at file:10:5` where the function has no name. */
const readFrame = (line: string, workingDirectory: string): string | undefined => {
  const at = /^\s*at /.exec(line);
  if (!at) return undefined;
  const frame = line.slice(at[0].length).trimEnd();
  const open = frame.endsWith(")") ? frame.indexOf(" (") : -1;
  const location = open === -1 ? frame.replace(/^async /, "") : frame.slice(open + 2, -1);
  if (isForeign(location)) return undefined;
  const file = shortFile(location, workingDirectory);
  const name =
    open === -1
      ? ""
      : frame
          .slice(0, open)
          .replace(/^(?:async |new )+/, "")
          .replace(/ \[as [^\]]*\]$/, "");
  return name === "" ? file : `${name} (${file})`;
};

/**
 * The function and file that an error came from: the first frame of its stack outside `node_modules` and Node.js.
 * Without the line number, which changes with the code above it. Null if there is no such frame.
 */
const ownFrame = (
  { name, message, stack }: { readonly name: string; readonly message: string; readonly stack?: string },
  workingDirectory: string,
): string | null => {
  if (stack === undefined) return null;
  const header = `${name}: ${message}`;
  let from = stack.startsWith(header) ? header.length : 0;
  for (let lines = 0; lines < mostLines && from < stack.length; lines++) {
    const newline = stack.indexOf("\n", from);
    const end = newline === -1 ? stack.length : newline;
    const frame = end - from > longestLine ? undefined : readFrame(stack.slice(from, end), workingDirectory);
    if (frame !== undefined) return frame;
    from = end + 1;
  }
  return null;
};

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
 * Two errors are of the same kind if they and their causes have the same names and codes, the same messages apart
 * from ids and other data, and the same functions of origin. Line numbers do not count, so most changes of a program
 * do not change its kinds.
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
