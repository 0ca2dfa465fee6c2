import { createHash } from "node:crypto";
import type { StoredError } from "../base/stored-error.ts";
import type { ErrorKind } from "../engine/engine.ts";

// What two messages of the same kind have in common, whatever they are about. One pass over words; no expression looks at
// more than one word, and a word that is too long is not looked at, so the time is linear in the text.

const longestWord = 200;

const longestResult = 300;

const quotes: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  "`": "`",
  "“": "”",
  "‘": "’",
  "«": "»",
};

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/**
 * Quoted text becomes `'…'`. An apostrophe in a word is no quotation mark, so a mark opens only before a word, and closes
 * only after one.
 */
const withoutQuotedText = (text: string): string => {
  const parts: string[] = [];
  /** Marks that do not close anywhere in the rest of the text: to look again would take quadratic time. */
  const unclosed = new Set<string>();
  const opening = /['"`“‘«]/g;
  let from = 0;
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    const start = found.index;
    const closing = quotes[found[0]]!;
    if (isWordCharacter(text[start - 1]) || unclosed.has(closing)) continue;
    let end = text.indexOf(closing, start + 1);
    while (end !== -1 && isWordCharacter(text[end + 1])) end = text.indexOf(closing, end + 1);
    if (end === -1) {
      unclosed.add(closing);
      continue;
    }
    parts.push(text.slice(from, start), "'…'");
    from = end + 1;
    opening.lastIndex = from;
  }
  parts.push(text.slice(from));
  return parts.join("");
};

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

const isoDate = /(?<!\d)\d{4}-\d\d-\d\d(?!\d)(?:T\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g;
/** As JavaScript spells them: `Tue Nov 17 2026 05:33:40 GMT+0000 (…)` and `Tue, 17 Nov 2026 05:33:40 GMT`. */
const spelledDate =
  /\b[A-Z][a-z]{2},? (?:[A-Z][a-z]{2} \d\d|\d\d [A-Z][a-z]{2}) \d{4}(?: \d\d:\d\d:\d\d(?: GMT(?:[+-]\d{4}(?: \([^)]{1,60}\))?)?)?)?/g;

const exponent = /(?<![\p{L}\p{N}])\d+(?:\.\d+)?e[+-]?\d+(?![\p{L}\p{N}])/giu;

const hexNumber = /(?<![\p{L}\p{N}])0x[0-9a-f]+/giu;

const usualHashLengths: ReadonlySet<number> = new Set([8, 12, 16, 24, 32, 40, 56, 64, 96, 128]);

/**
 * Letters and digits: an id becomes `#`, and so does each number in anything else. Apart from hashes, whether it is an id does
 * not depend on how long its numbers are, or `order9` and `order10` could differ.
 */
const commonSegment = (segment: string): string => {
  if (!/\d/.test(segment)) return segment;
  if (usualHashLengths.has(segment.length) && /^[0-9a-f]+$/i.test(segment)) return "#";
  const shape = segment.replace(/\d+/g, "#");
  const isMixed = /[^#]#[^#]|#[^#]+#/.test(shape);
  return isMixed && shape.length >= 8 ? "#" : shape;
};

const isNumber = (segment: string): boolean => /^\d+$/.test(segment);

/** Letters, digits, `-` and `_`. A part that is an id makes the whole one an id. */
const commonName = (name: string): string => {
  const parts = name.split(/([-_])/).map((part) => [part, commonSegment(part)] as const);
  const hasId = parts.some(([part, common]) => common === "#" && !isNumber(part));
  return hasId ? "#" : parts.map(([, common]) => common).join("");
};

const isPath = (word: string): boolean =>
  /^(?:[a-z]:)?(?:\.{0,2}|~)[\\/]./i.test(word) || /^[^\\/]+[\\/][^\\/]+[\\/]./.test(word);

const commonCore = (word: string): string => {
  if (word.length > longestWord) return "<text>";
  const url = word.search(/[a-z][a-z0-9+.-]*:\/\//i);
  if (url !== -1) return `${commonCore(word.slice(0, url))}<url>`;
  if (/^[^@]+@[^@]+$/.test(word)) return "<address>";
  if (isPath(word)) return "<path>";
  if (/^[0-9a-f]*:[0-9a-f:]*:[0-9a-f.:]*$/i.test(word)) return "#";
  return (
    word
      .replace(isoDate, "#")
      .replace(uuid, "#")
      .replace(hexNumber, "#")
      .replace(exponent, "#")
      .replace(/[\p{L}\p{N}_-]+/gu, commonName)
      // A version, an amount or an IP address is one number, however many parts it has.
      .replace(/#(?:[-_.,:/]#)+/g, "#")
      .replace(/^[-+]#/, "#")
  );
};

/** The word without brackets and punctuation around it. */
const commonWord = (word: string): string => {
  let start = 0;
  let end = word.length;
  while (start < end && "([{<".includes(word[start]!)) start += 1;
  while (end > start && ")]}>.,;:!?".includes(word[end - 1]!)) end -= 1;
  return word.slice(0, start) + commonCore(word.slice(start, end)) + word.slice(end);
};

const bare = (word: string): string => word.replace(/[,;]$/, "");

/** With ids, numbers, dates, addresses, paths, URLs and quoted text replaced, and at most 300 characters long. */
export const commonMessage = (message: string): string => {
  const words: string[] = [];
  let length = 0;
  for (const [found] of withoutQuotedText(message).replace(spelledDate, "#").matchAll(/\S+/g)) {
    const word = commonWord(found);
    const previous = words.at(-1);
    // A list of ids is the same however many they are.
    if (previous !== undefined && /[#…>]/.test(word) && bare(previous) === bare(word)) {
      words[words.length - 1] = word;
      continue;
    }
    words.push(word);
    length += word.length + 1;
    if (length > longestResult) break;
  }
  return words.join(" ").slice(0, longestResult);
};

/** The same for a part of a path: builds put hashes into names of files. */
const commonFileName = (name: string): string =>
  name.length > longestWord ? "<text>" : name.replace(/[\p{L}\p{N}_-]+/gu, commonName);

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
