import type { FailureCause } from "leasehold";
import { causes as causesAnswer, processes as processesAnswer, summary } from "../answers/numbers.ts";
import { hourMs, viewCauseTexts } from "../numbers/causes.ts";
import { readSummary } from "../numbers/read-summary.ts";
import { get, type Route } from "./route.ts";

const hours = 24;

/** The last hours up to now, those without failures too. */
const hourly = (trend: NonNullable<FailureCause["trend"]>, now: number): number[] => {
  const first = Math.floor(now / hourMs) - hours + 1;
  const counts = Array.from({ length: hours }, () => 0);
  for (const { from, count: jobs } of trend) {
    const hour = from.getTime() / hourMs - first;
    // By the clock of another process, a failure may lie in the future.
    if (hour >= 0) counts[Math.min(hour, hours - 1)]! += jobs;
  }
  return counts;
};

const listCauses = get({
  path: "causes",
  needs: "read",
  // All viewers share one read, so it needs no place in the quota of each.
  summary: "Failed jobs by what they failed from, those with the most jobs first.",
  answer: causesAnswer,
  handle: async ({ stateAdapter, redact, readCauses, now }, { viewer }) => {
    if (stateAdapter.history === undefined) return { isComplete: true, causes: [] };
    const [{ causes, capped }, time] = await Promise.all([readCauses(), now()]);
    return {
      isComplete: !capped,
      causes: causes.map((cause) => ({
        fingerprint: cause.fingerprint,
        ...viewCauseTexts(redact, viewer, cause),
        deployment: cause.firstDeployment,
        firstSeenAt: cause.firstSeenAt?.toISOString() ?? null,
        count: cause.count,
        firstFailedAt: cause.firstFailedAt.toISOString(),
        lastFailedAt: cause.lastFailedAt.toISOString(),
        exampleId: cause.exampleId,
        types: cause.jobs.map(({ queue, typeName, count: jobs }) => ({ queue, typeName, count: jobs })),
        reasons: [...new Set(cause.jobs.map(({ reason }) => reason))],
        trend: hourly(cause.trend ?? [], time),
      })),
    };
  },
});

const listProcesses = get({
  path: "processes",
  needs: "read",
  isTopic: true,
  summary: "Processes that start jobs or run them, the latest report first.",
  answer: processesAnswer,
  handle: async ({ leasehold, stateAdapter }) => {
    const processes = stateAdapter.history === undefined ? [] : await leasehold.history.listProcesses();
    return {
      processes: processes.map(({ alive, closed, workers, startedAt, seenAt, ...rest }) => ({
        ...rest,
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
        isAlive: alive,
        hasClosed: closed,
        workers: workers.map(({ id, queues, typeNames, concurrency, running }) => ({
          workerId: id,
          queues: queues.map(({ name }) => name),
          typeNames,
          slots: concurrency,
          running,
        })),
      })),
    };
  },
});

const getSummary = get({
  path: "summary",
  needs: "read",
  isTopic: true,
  summary: "How things are, in sentences.",
  answer: summary,
  handle: async (services) => {
    const { level, sentences } = await readSummary({ ...services, lateness: services.doctor.lateness });
    return {
      level,
      sentences: sentences.map(({ since, ...rest }) => ({ ...rest, since: since?.toISOString() ?? null })),
    };
  },
});

export const historyRoutes: readonly Route[] = [listCauses, listProcesses, getSummary];
