import { commonFileName } from "./common-message.ts";

const mostLines = 100;
const longestLine = 1_000;
/** Enough to tell files of the same name apart, and the same wherever the program is installed. */
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
 * The function and file that an error came from: the first frame of its stack outside `node_modules` and Node.js. Without the
 * line, which moves with every change of the file above it. Null if there is no such frame.
 */
export const ownFrame = (
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
