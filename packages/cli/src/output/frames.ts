import { resolve } from "node:path";

const mostFrames = 5;
const ownFolder = resolve(import.meta.dirname, "../..");

/** Where in the user's own files an error was thrown. */
export const ownFrames = (stack: string): string[] =>
  stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !/node:|node_modules/.test(line) && !line.includes(ownFolder))
    .slice(0, mostFrames)
    .map((line) => line.trim().replace("file://", ""));
