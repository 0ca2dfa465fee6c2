import { findLateTypes, findPauses, findStuckJobs, type LateType, readStoreFacts } from "leasehold/doctor";
import type { Services } from "../server/services.ts";
import { cap, describeSituation, type FailedGroup, type Situation } from "./situation.ts";

const sampleSize = 20;

/** By cause, where the store knows causes. Otherwise a few of those created last have to tell whether any failed lately. */
const readFailures = async (
  { leasehold, stateAdapter }: Services,
  failed: number,
): Promise<FailedGroup[]> => {
  if (failed === 0) return [];
  if (stateAdapter.history !== undefined) {
    const { causes } = await leasehold.listFailureCauses({ scanLimit: cap });
    return causes.map(({ fingerprint, name, count, lastFailedAt, firstSeenAt, firstDeployment }) => ({
      fingerprint,
      name,
      count,
      lastFailedAt: lastFailedAt.getTime(),
      firstSeenAt: firstSeenAt?.getTime() ?? null,
      firstDeployment,
    }));
  }
  const { jobs } = await leasehold.listJobs({ status: "failed", limit: sampleSize });
  const times = jobs.map((job) => (job.status === "failed" ? job.failure.at.getTime() : 0));
  const lastFailedAt = Math.max(0, ...times);
  const unknown = { fingerprint: null, name: null, firstSeenAt: null, firstDeployment: null };
  return [{ ...unknown, count: failed, lastFailedAt }];
};

/** The types that are late, together for each queue. */
const byQueue = (types: readonly LateType[], now: number) => {
  const queues = new Map<string, LateType[]>();
  for (const type of types) queues.set(type.queue, [...(queues.get(type.queue) ?? []), type]);
  return [...queues].map(([queue, own]) => ({
    queue,
    typeNames: own.map(({ typeName }) => typeName),
    runnable: own.reduce((sum, { runnable }) => sum + runnable, 0),
    oldestMs: now - Math.min(...own.map(({ since }) => since)),
    since: null,
  }));
};

/** Made from what the checks of doctor judge, so that the two cannot disagree. */
export const readSituation = async (services: Services): Promise<Situation> => {
  const { stateAdapter, doctor, findBehindSince } = services;
  if (stateAdapter.statistics === undefined)
    return {
      level: "calm",
      sentences: [{ text: "This store does not say how its queues are.", href: null, since: null }],
    };
  const facts = readStoreFacts(stateAdapter);
  const [now, late, stuck, paused, backlog] = await Promise.all([
    facts.now(),
    findLateTypes(facts, doctor.lateness),
    findStuckJobs(facts, 1),
    findPauses(facts),
    facts.backlog(),
  ]);
  const failed = backlog.reduce((sum, type) => sum + type.failed, 0);
  const { stalledMs: lateMs } = doctor.lateness;
  const behind = byQueue(
    late.filter(({ isServed }) => isServed),
    now,
  ).map(async (queue) => ({
    ...queue,
    since: stateAdapter.history
      ? await findBehindSince({ queue: queue.queue, oldestAt: now - queue.oldestMs, lateMs }, now)
      : null,
  }));
  return describeSituation({
    now,
    unserved: byQueue(
      late.filter(({ isServed }) => !isServed),
      now,
    ),
    behind: await Promise.all(behind),
    // One is enough to know that nobody takes over. How many there are is counted already.
    stuck: stuck.length === 0 ? 0 : backlog.reduce((sum, type) => sum + type.expired, 0),
    paused,
    failed: await readFailures(services, failed),
  });
};
