/** A name from the store, which may contain anything. The output that shows a check result escapes it. */
export const onOneLine = (name: string): string => name.replaceAll(/\s*\n\s*/g, " ");

/*
 * Amounts in words for people, as in the findings of `doctor`.
 */

const units: readonly [name: string, ms: number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
];

/** A length of time in a few characters: `850 ms`, `4.2 s`, `3m 20s`, `2d 4h`. */
export const formatDuration = (ms: number): string => {
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  if (length < 60_000) return `${(length / 1_000).toFixed(1)} s`;
  const index = units.findIndex(([, size]) => length >= size);
  const [name, size] = units[index]!;
  const [nextName, nextSize] = units[index + 1]!;
  const rest = Math.floor((length % size) / nextSize);
  return `${Math.floor(length / size)}${name}${rest === 0 ? "" : ` ${rest}${nextName}`}`;
};

/** A number with separators, for people. */
export const formatCount = (count: number): string => count.toLocaleString("en-US");

/** A size in the largest fitting unit, for people. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} B`;
  const power = Math.min(4, Math.floor(Math.log(bytes) / Math.log(1_024)));
  return `${(bytes / 1_024 ** power).toFixed(1)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`;
};

/** A number with its noun, for people. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
