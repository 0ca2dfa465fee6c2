import { formatCount, formatDuration } from "leasehold/adapter";

/** `3m 20s ago` or `in 5.0 s`. */
export const formatMoment = (at: Date, now: number): string => {
  const ms = at.getTime() - now;
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(ms)} ago`;
};

export const formatRate = (perSecond: number): string =>
  perSecond === 0 ? "–" : `${perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))}/s`;

// Control characters and characters that change the direction of text: job data must not control a terminal.
// oxlint-disable-next-line no-control-regex -- they are what this is about
const unsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escape = (character: string): string =>
  character === "\t" ? "  " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Text from a store, made safe for a terminal. Line breaks stay. */
export const printable = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(unsafe, escape);

/** The same on one line. */
export const oneLine = (text: string): string => printable(text).replaceAll(/\s*\n\s*/g, " ");

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

const ascii = /^[\u0020-\u007e]*$/;

const widthOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1);

/** How many columns a text takes in a terminal, where Chinese characters and emoji take two. */
export const textWidth = (text: string): number => {
  if (ascii.test(text)) return text.length;
  let sum = 0;
  for (const { segment } of graphemes.segment(text)) sum += widthOf(segment);
  return sum;
};

/** Cut to this many columns. */
export const shorten = (text: string, width: number): string => {
  if (textWidth(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const { segment } of graphemes.segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
};

/** Breaks lines between words to fit a width. A word that is longer stays in one piece, so that it can be copied. */
export const wrap = (text: string, width: number): string =>
  text
    .split("\n")
    .map((line) => {
      const lines: string[] = [];
      let current = "";
      for (const word of line.split(/(?<=\S) +/)) {
        if (current !== "" && textWidth(current) + 1 + textWidth(word) > width) {
          lines.push(current);
          current = word;
        } else current = current === "" ? word : `${current} ${word}`;
      }
      return [...lines, current].join("\n");
    })
    .join("\n");

/** Every line but the first moved to the right. */
export const hangingIndent = (text: string, by: number): string =>
  text.replaceAll("\n", `\n${" ".repeat(by)}`);
