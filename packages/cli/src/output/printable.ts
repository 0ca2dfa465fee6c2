// Control characters, and those that turn the direction of text: job data must not be able to steer a terminal.
// oxlint-disable-next-line no-control-regex -- they are what this is about
const unsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escape = (character: string): string =>
  character === "\t" ? "  " : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Text from a store, made safe for a terminal. Line breaks stay. */
export const printable = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(unsafe, escape);

/** The same on one line. */
export const oneLine = (text: string): string => printable(text).replaceAll(/\s*\n\s*/g, " ");

export const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
