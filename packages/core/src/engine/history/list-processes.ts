import type { LeaseholdProcess } from "../../api/history.ts";
import { requirePart } from "../../contracts/optional-parts.ts";
import type { History, StateReporter } from "../../contracts/state-adapter.ts";
import { requirePlainObject } from "../../model/option-checks.ts";
import type { Engine } from "../engine.ts";
import { parseAbout, type ReportedWorker } from "../reporter/about.ts";
import { reporterKeptMs } from "../reporter/widths.ts";
import { resolveTransaction } from "../transaction.ts";

const aliveMs = 60_000;
const mostProcesses = 1_000;

const viewProcess = (reporter: StateReporter, now: number): LeaseholdProcess => {
  const { host, pid, node, leasehold, workers, ended } = parseAbout(reporter.about);
  return {
    id: reporter.id,
    alive: !ended && now - reporter.seenAt <= aliveMs,
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

/** Those that have reported within the last day; the one that did last comes first. */
export const listProcesses = async (engine: Engine, passed: unknown = {}): Promise<LeaseholdProcess[]> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "listProcesses", options, {});
  const history = requirePart(engine.store, "history", "listProcesses");
  const now = await engine.store.getTime({ ctx });
  const seenFrom = now - reporterKeptMs;
  const reporters = await history.listReporters({ ctx, mayLag: true, seenFrom, limit: mostProcesses });
  return reporters.map((reporter) => viewProcess(reporter, now));
};

/** The workers of live processes; undefined where no process reports. */
export const listLiveWorkers = async (
  history: History<object>,
  now: number,
  ctx?: object,
): Promise<ReportedWorker[] | undefined> => {
  const seenFrom = now - reporterKeptMs;
  const reporters = await history.listReporters({ ctx, mayLag: true, seenFrom, limit: mostProcesses });
  if (reporters.length === 0) return undefined;
  return reporters
    .map((reporter) => viewProcess(reporter, now))
    .filter(({ alive }) => alive)
    .flatMap(({ workers }) => workers);
};

export const serves = (
  { queues, typeNames }: Pick<ReportedWorker, "queues" | "typeNames">,
  queue: string,
  typeName: string,
): boolean =>
  queues.some(({ name, claimAllTypes }) => name === queue && (claimAllTypes || typeNames.includes(typeName)));

/** How many workers of live processes serve a queue and type; null where no process reports. */
export const countWorkers = async (
  history: History<object>,
  ctx: object | undefined,
  { queue, typeName }: { readonly queue: string; readonly typeName: string },
  now: number,
): Promise<number | null> => {
  const workers = await listLiveWorkers(history, now, ctx);
  return workers?.filter((worker) => serves(worker, queue, typeName)).length ?? null;
};
