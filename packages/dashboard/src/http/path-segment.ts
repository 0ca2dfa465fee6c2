/**
 * Part of a path, from any text. Browsers and proxies remove `.` and `..`, encoded or not, so these get a `~` in front: `~.` and
 * `~..`. A text of that form gets one more.
 */
export const toSegment = (text: string): string =>
  /^~*\.\.?$/.test(text) ? `~${text}` : encodeURIComponent(text);

/** The text that a part of a path stands for. Throws if it cannot be read. */
export const fromSegment = (segment: string): string => {
  const text = decodeURIComponent(segment);
  return /^~+\.\.?$/.test(text) ? text.slice(1) : text;
};
