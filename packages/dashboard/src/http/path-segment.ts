/**
 * Part of a path, from any text. Browsers and proxies fold `.` and `..`, encoded or not, before anybody sees them, so these have a
 * `~` in front of them: `~.` and `~..`. A text that looks like one of those gets one more.
 */
export const toSegment = (text: string): string =>
  /^~*\.\.?$/.test(text) ? `~${text}` : encodeURIComponent(text);

/** The text that a part of a path stands for. Throws if it cannot be read. */
export const fromSegment = (segment: string): string => {
  const text = decodeURIComponent(segment);
  return /^~+\.\.?$/.test(text) ? text.slice(1) : text;
};
