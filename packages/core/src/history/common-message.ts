// What two messages of the same kind have in common, whatever they are about. One pass over words; no expression reads more
// than one word, apart from a few with bounded lengths, so the time is linear in the text. A word that is too long is skipped.

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

/**
 * How common each pair of letters is in messages of programs in European languages, on a logarithmic scale: all would be 5 if
 * they were equally common. A row for each first letter, a column for each second one.
 */
const pairFrequencies: readonly string[] = [
  "66672464646878161878654245",
  "63117010630612510542500030",
  "60416007635401710435500024",
  "72148221712324730453522033",
  "55675564646879353987553534",
  "51025410701400610434400020",
  "61027043502425510654500020",
  "60026001522423500425411020",
  "65767663446769752687361335",
  "50025000302202400031300001",
  "72216011604513710556520020",
  "73258332824744720256630040",
  "75128120702354660243510010",
  "73677573735435621378642054",
  "35564454535768561876555224",
  "71227223602521650745500020",
  "00000000000000000000500000",
  "84458353835465731567643045",
  "73637434716534662368632054",
  "82329324813434720766733053",
  "54445442545667450666432223",
  "61007000600003500221310020",
  "60015001500003400220100040",
  "20203000300000130004000100",
  "42434221313344350244103020",
  "61126010501223410012403043",
];

const a = "a".charCodeAt(0);

/** The mean frequency of the pairs in a text of ASCII letters: about 3 for random letters, above 5 for most words. */
const wordLikeness = (letters: string): number => {
  const text = letters.toLowerCase();
  let sum = 0;
  for (let index = 1; index < text.length; index++)
    sum += Number(pairFrequencies[text.charCodeAt(index - 1) - a]![text.charCodeAt(index) - a]);
  return sum / (text.length - 1);
};

const isWord = (letters: string, least: number): boolean => wordLikeness(letters) >= least;

const leastAlone = 4.2;

/** Letters next to digits are part of an id more often than others. */
const leastWithDigits = 4.8;

/** Whether the words of camel case would be too short. */
const hasRandomCase = (letters: string): boolean => {
  const parts = letters.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  return parts.length >= 4 && letters.length / parts.length < 2.5;
};

/** Words of the letters a to f that stand before numbers. */
const hexWords = /^(?:face|fade|feed|cafe|dead|deed|beef|bead)\d+$/i;

/** Letters and digits of ASCII. */
const isId = (segment: string): boolean => {
  if (/^[0-9a-f]{7,}$/i.test(segment) && /\d/.test(segment)) return !hexWords.test(segment);
  const runs = segment.match(/[a-z]+|\d+/gi) ?? [];
  const letters = runs.filter((run) => /[a-z]/i.test(run));
  if (runs.length === 1)
    return segment.length >= 8 && (hasRandomCase(segment) || !isWord(segment, leastAlone));
  if (runs.length > 3) return true;
  // Whether it is an id should not depend on the length of a number: `order9` and `order10` are the same.
  if (runs.length === 2) {
    const [run] = letters as [string];
    return run.length >= 6 && (run !== runs[0] || !isWord(run, leastWithDigits));
  }
  const isOfWords =
    letters.length === 2 && letters.every((run) => run.length >= 3 && isWord(run, leastWithDigits));
  return !isOfWords && (segment.length >= 8 || letters.join("").length >= 5);
};

/** An id becomes `#`, and so does each number in anything else. */
const commonSegment = (segment: string): string => {
  if (/^[a-z\d]{5,}$/i.test(segment) && !isNumber(segment) && isId(segment)) return "#";
  return segment.replace(/\d+/g, "#");
};

const isNumber = (segment: string): boolean => /^\d+$/.test(segment);

/** Kubernetes ends the names of pods with five characters, most of them after eight to ten of a replica set. No vowels. */
const podSuffix =
  /-(?:[bcdfghjklmnpqrstvwxz2456789]{8,10}-)?(?!\d+$|https$|xhtml$)[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/** Letters, digits, `-` and `_`. A part that is an id makes the whole one an id. */
const commonName = (name: string): string => {
  if (podSuffix.test(name)) return "#";
  const parts = name.split(/([-_])/).map((part) => [part, commonSegment(part)] as const);
  const hasId = parts.some(([part, common]) => common === "#" && !isNumber(part));
  return hasId ? "#" : parts.map(([, common]) => common).join("");
};

const isPath = (word: string): boolean =>
  /^(?:[a-z]:)?(?:\.{0,2}|~)[\\/]./i.test(word) ||
  /^[^\\/]+[\\/][^\\/]+[\\/]./.test(word) ||
  // `uploads/x.png`
  /^[^\\/]+[\\/][^\\/]*\.[a-z][a-z\d]{0,4}$/i.test(word);

/** Not the extensions of programs and their settings: which of these files it is makes a difference. */
const dataFile =
  /\.(?:avi|avif|bak|bmp|bz2|csv|dat|docx?|eml|flac|gif|gz|heic|ics|jpe?g|m4a|mkv|mov|mp[34]|ods|odt|ogg|parquet|pdf|png|pptx?|psd|rar|rtf|svg|t?gz|tar|tiff?|tmp|tsv|txt|wav|webm|webp|xlsx?|zip|7z)$/i;

const isBase64 = (word: string): boolean =>
  (word.length % 4 === 0 && /^[a-z\d+/]{6,}={1,2}$/i.test(word)) ||
  (/^[a-z\d+/]{16,}$/i.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word) && /[\d+]/.test(word));

const commonCore = (word: string): string => {
  if (word.length > longestWord) return "<text>";
  const url = word.search(/[a-z][a-z0-9+.-]*:\/\//i);
  if (url !== -1) return `${commonCore(word.slice(0, url))}<url>`;
  if (/^[^@]+@[^@]+$/.test(word)) return "<address>";
  if (isBase64(word)) return "#";
  if (isPath(word)) return "<path>";
  if (dataFile.test(word)) return "<file>";
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

// Status codes and error codes say what happened, other numbers whom it happened to. Each expression ends with the code.
const codes: readonly RegExp[] = [
  /\b(?:https?(?:\/\d(?:\.\d)?)?|status(?:[ _-]?code)?)["']?[ ]?[:=]?[ ]?["'(]?(?:(?:is|was|of) )?[1-5]\d\d(?!\w|[.,]\d)/gi,
  /(?<!\b(?:access|area|bar|country|coupon|discount|postal|promo|promotion|qr|security|sort|verification|voucher|zip)[ _-]?)(?:code|errno|sqlstate)["']?[ ]?[:=]?[ ]?["'(]?(?:(?:is|was) )?(?:-?\d{1,5}|\d[\dA-Z]{4})(?!\w)/gi,
  /\b(?:error|(?:answer|respond|return|repl(?:y|ie))(?:s|ed|d)?|got|received)(?: with)?(?: an?)? [1-5]\d\d(?!\w|[.,]\d| [a-z]+s\b)/gi,
  /\berror \d{4}(?!\w|[.,]\d)/gi,
];

const code = /(?:-?\d+|\d[\dA-Z]{4})$/i;

const statusCode = /^[1-5]\d\d$/;

const circledZero = "⓪";

const circledOne = "①".charCodeAt(0);

/** Circled digits are no digits to the other expressions. */
const circled = (digits: string): string =>
  digits.replace(/\d/g, (digit) =>
    digit === "0" ? circledZero : String.fromCharCode(circledOne + Number(digit) - 1),
  );

const uncircled = (text: string): string =>
  text.replace(/[⓪①-⑨]/g, (digit) =>
    digit === circledZero ? "0" : String(digit.charCodeAt(0) - circledOne + 1),
  );

const withCircledCodes = (message: string): string => {
  let text = message;
  for (const expression of codes)
    text = text.replace(expression, (found) => found.replace(code, (digits) => circled(digits)));
  return text;
};

/**
 * With ids, numbers, dates, addresses, paths, file names, URLs and quoted text replaced, and at most 300 characters long.
 * Status codes and error codes stay.
 */
export const commonMessage = (message: string): string => {
  const words: string[] = [];
  let length = 0;
  const text = withoutQuotedText(withCircledCodes(message)).replace(spelledDate, "#");
  for (const [found] of text.matchAll(/\S+/g)) {
    const previous = words.at(-1);
    // `GET https://example.com: 404`
    const isStatus =
      previous !== undefined && /<(?:url|path)>\)?:?$/.test(previous) && statusCode.test(found);
    const word = isStatus ? circled(found) : commonWord(found);
    // A list of ids is the same however many they are.
    if (previous !== undefined && /[#…>]/.test(word) && bare(previous) === bare(word)) {
      words[words.length - 1] = word;
      continue;
    }
    words.push(word);
    length += word.length + 1;
    if (length > longestResult) break;
  }
  return uncircled(words.join(" ").slice(0, longestResult));
};

/** The same for a part of a path: builds put hashes into names of files. */
export const commonFileName = (name: string): string =>
  name.length > longestWord ? "<text>" : name.replace(/[\p{L}\p{N}_-]+/gu, commonName);
