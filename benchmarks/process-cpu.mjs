// CPU time of a server: its main process, those it has now, and those it had and has waited for.
import { readdir, readFile } from "node:fs/promises";

// Fixed for user space on every Linux that Node.js runs on.
const ticksPerSecond = 100;

/** The fields of /proc/<pid>/stat after the name, which may contain anything. */
const readStat = async (pid) => {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ");
};

const parent = 1;
const own = [11, 12];
const waitedFor = [13, 14];
const sum = (stat, fields) => fields.reduce((total, field) => total + Number(stat[field]), 0);

/**
 * CPU seconds used so far, or not a number where there is no /proc.
 * @param {number} pid
 */
export const readServerCpu = async (pid) => {
  const main = await readStat(pid);
  if (!main) return Number.NaN;
  let ticks = sum(main, [...own, ...waitedFor]);
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const stat of await Promise.all(processes.map(readStat))) {
    if (stat?.[parent] === String(pid)) ticks += sum(stat, own);
  }
  return ticks / ticksPerSecond;
};
