import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { History } from "../store/contract/history.ts";
import type { Engine, ReportedWorker } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import type { StateProcess } from "../store/contract/history.ts";
import type { LeaseholdProcess } from "./api.ts";
import { reporterKeptMs } from "./counts.ts";

/** What a process reports about itself. */
export interface ProcessInfo {
  readonly host: string;
  readonly pid: number;
  readonly node: string;
  /** The version of Leasehold; null where it cannot be found out, such as in a bundle. */
  readonly leasehold: string | null;
  readonly workers: readonly ReportedWorker[];
  /** The types that this process has declared workerless: their jobs are completed from outside. */
  readonly workerless: readonly string[];
  /** It has said goodbye. */
  readonly ended: boolean;
}

const readVersion = (): string | null => {
  try {
    const path = join(dirname(fileURLToPath(import.meta.url)), "../../package.json");
    const { name, version } = JSON.parse(readFileSync(path, "utf8")) as { name?: string; version?: string };
    return name === "leasehold" && version !== undefined ? version : null;
  } catch {
    return null;
  }
};

let versionOnce: string | null | undefined;

export const readProcessInfo = ({
  workers,
  workerless,
  ended,
}: Pick<ProcessInfo, "workers" | "workerless" | "ended">): string => {
  versionOnce ??= readVersion();
  const info: ProcessInfo = {
    host: hostname(),
    pid: process.pid,
    node: process.version,
    leasehold: versionOnce,
    workers,
    workerless,
    ended,
  };
  return JSON.stringify(info);
};

/** Of another release it may have more or less than ours. */
export const parseProcessInfo = (text: string): ProcessInfo => {
  let info: Partial<ProcessInfo> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) info = parsed;
  } catch {
    // Then nothing is known of it.
  }
  const workers = Array.isArray(info.workers) ? (info.workers as readonly Partial<ReportedWorker>[]) : [];
  return {
    host: info.host ?? "",
    pid: info.pid ?? 0,
    node: info.node ?? "",
    leasehold: info.leasehold ?? null,
    workers: workers.map(
      ({ id = "", concurrency = 0, queues = [], typeNames = [], running = 0, idleSleepMs = 0 }) => ({
        id,
        concurrency,
        queues,
        typeNames,
        running,
        idleSleepMs,
      }),
    ),
    workerless: Array.isArray(info.workerless) ? info.workerless : [],
    ended: info.ended ?? false,
  };
};

const aliveMs = 60_000;

const mostProcesses = 1_000;

const viewProcess = (reporter: StateProcess, now: number): LeaseholdProcess => {
  const { host, pid, node, leasehold, workers, ended } = parseProcessInfo(reporter.info);
  // A process whose workers sleep is silent until one of them wakes.
  const silentMs = aliveMs + Math.max(0, ...workers.map(({ idleSleepMs }) => idleSleepMs));
  return {
    id: reporter.id,
    alive: !ended && now - reporter.seenAt <= silentMs,
    closed: ended,
    deployment: reporter.deployment,
    startedAt: new Date(reporter.startedAt),
    seenAt: new Date(reporter.seenAt),
    host,
    pid,
    nodeVersion: node,
    leaseholdVersion: leasehold,
    workers,
  };
};

/** Processes that reported within the last day, the latest report first. */
export const listProcesses = (engine: Engine, passed: unknown = {}): Promise<LeaseholdProcess[]> =>
  operation(
    engine,
    "history.listProcesses",
    passed,
    { options: {}, part: "history" },
    async ({ ctx, part: history }) => {
      const now = await engine.store.getTime({ ctx });
      const seenFrom = now - reporterKeptMs;
      const reporters = await history.listProcesses({ ctx, mayLag: true, seenFrom, limit: mostProcesses });
      return reporters.map((reporter) => viewProcess(reporter, now));
    },
  );

/** Which types run, and where, as far as processes report it. */
export interface Serving {
  /** The workers of live processes; undefined where no process reports. */
  readonly workers: readonly ReportedWorker[] | undefined;
  /** The types that a process has declared workerless within the last day. */
  readonly workerless: ReadonlySet<string>;
  /** When the processes of the last day started, by id. */
  readonly startedAt: ReadonlyMap<string, number>;
}

const nothingReported: Serving = { workers: undefined, workerless: new Set(), startedAt: new Map() };

export const readServing = async (
  history: History<object> | undefined,
  now: number,
  ctx?: object,
): Promise<Serving> => {
  if (history === undefined) return nothingReported;
  const seenFrom = now - reporterKeptMs;
  const reporters = await history.listProcesses({ ctx, mayLag: true, seenFrom, limit: mostProcesses });
  if (reporters.length === 0) return nothingReported;
  const workers = reporters
    .map((reporter) => viewProcess(reporter, now))
    .filter(({ alive }) => alive)
    .flatMap((process) => process.workers);
  return {
    workers,
    workerless: new Set(reporters.flatMap(({ info }) => parseProcessInfo(info).workerless)),
    startedAt: new Map(reporters.map(({ id, startedAt }) => [id, startedAt])),
  };
};

export const serves = (
  { queues, typeNames }: Pick<ReportedWorker, "queues" | "typeNames">,
  queue: string,
  typeName: string,
): boolean =>
  queues.some(({ name, claimAllTypes }) => name === queue && (claimAllTypes || typeNames.includes(typeName)));

/** How many workers serve a queue and type; null where no process reports. */
export const countServing = (
  { workers }: Serving,
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
): number | null => workers?.filter((worker) => serves(worker, queue, typeName)).length ?? null;

/** The slots of the workers that serve a queue and type; null without such workers. */
export const countSlots = (
  { workers = [] }: Serving,
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
): { readonly running: number; readonly concurrency: number } | null => {
  const own = workers.filter((worker) => serves(worker, queue, typeName));
  if (own.length === 0) return null;
  const sum = (of: "running" | "concurrency"): number => own.reduce((total, worker) => total + worker[of], 0);
  return { running: sum("running"), concurrency: sum("concurrency") };
};
