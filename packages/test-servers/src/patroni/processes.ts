import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
};

/** The process that PostgreSQL's file names, if it is alive. Patroni lets it outlive itself. */
export const findPostmaster = (dataFolder: string): number | undefined => {
  const pid = Number(readIfThere(join(dataFolder, "postmaster.pid"))?.split("\n")[0]);
  if (!(pid > 0)) return undefined;
  return readIfThere(`/proc/${pid}/cmdline`)?.includes(dataFolder) ? pid : undefined;
};

const parentOf = (pid: string): number =>
  // The name of the program may contain anything, so count from its closing parenthesis.
  Number(readIfThere(`/proc/${pid}/stat`)?.split(") ").at(-1)?.split(" ")[1]);

/** The process and its children. */
export const familyOf = (parent: number): number[] => [
  parent,
  ...readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number),
];

export const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
};
