import { readFileSync } from "node:fs";

/** How often each job is in the log of the worker processes with this word. */
export const readProcessLog = (log: string, word: "executed" | "completed"): Map<string, number> => {
  const counts = new Map<string, number>();
  // The last line may be incomplete, if its process was killed.
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  for (const line of lines) {
    const [what, id] = line.split(" ");
    if (what === word && id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
};
