import { moment, optional, whole, withDefault } from "../server/fields.ts";
import { badRequest } from "../server/http-error.ts";
import { get, type Route } from "../server/route.ts";
import { describeSituation } from "../situation/situation.ts";
import { count, date, listOfSchema, nullable, objectSchema, payload, text } from "./answers.ts";

const boolean = { type: "boolean" };
const number = { type: "number" };
const texts = listOfSchema(text);

const listCauses = get({
  path: "causes",
  needs: "read",
  summary: "Failed jobs by what they failed from, those with the most jobs first.",
  isExpensive: true,
  answer: objectSchema({
    isComplete: boolean,
    causes: listOfSchema(
      objectSchema({
        fingerprint: nullable(text),
        name: nullable(text),
        message: payload,
        frame: nullable(text),
        deployment: nullable(text),
        firstSeenAt: nullable(date),
        count,
        firstFailedAt: date,
        lastFailedAt: date,
        exampleId: text,
        types: listOfSchema(objectSchema({ queue: text, typeName: text, count })),
        reasons: texts,
      }),
    ),
  }),
  handle: async ({ leasehold, stateAdapter, redact }, { viewer }) => {
    if (stateAdapter.history === undefined) return { isComplete: true, causes: [] };
    const { causes, capped } = await leasehold.listFailureCauses();
    return {
      isComplete: !capped,
      causes: causes.map((cause) => ({
        fingerprint: cause.fingerprint,
        name: cause.name,
        message: redact.payload(
          viewer,
          { id: cause.exampleId, typeName: "", queue: "" },
          "error",
          cause.message,
        ),
        frame: cause.frame,
        deployment: cause.firstDeployment,
        firstSeenAt: cause.firstSeenAt?.toISOString() ?? null,
        count: cause.count,
        firstFailedAt: cause.firstFailedAt.toISOString(),
        lastFailedAt: cause.lastFailedAt.toISOString(),
        exampleId: cause.exampleId,
        types: cause.jobs.map(({ queue, typeName, count: jobs }) => ({ queue, typeName, count: jobs })),
        reasons: [...new Set(cause.jobs.map(({ reason }) => reason))],
      })),
    };
  },
});

const listProcesses = get({
  path: "processes",
  needs: "read",
  isTopic: true,
  summary: "Processes that start jobs or run them, those that reported last first.",
  answer: objectSchema({
    processes: listOfSchema(
      objectSchema({
        id: text,
        host: text,
        pid: count,
        nodeVersion: text,
        leaseholdVersion: nullable(text),
        deployment: nullable(text),
        startedAt: date,
        seenAt: date,
        isAlive: boolean,
        workers: listOfSchema(
          objectSchema({ workerId: text, queues: texts, typeNames: texts, slots: count, running: count }),
        ),
      }),
    ),
  }),
  handle: async ({ leasehold, stateAdapter }) => {
    const processes = stateAdapter.history === undefined ? [] : await leasehold.listProcesses();
    return {
      processes: processes.map(({ alive, workers, startedAt, seenAt, ...rest }) => ({
        ...rest,
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
        isAlive: alive,
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

const dayMs = 86_400_000;
const longestRangeMs = 90 * dayMs;
const mostPoints = 200;

/** Counts are kept for 10 seconds, minutes and hours, so other steps would show some in one point and some in two. */
const steps = [10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400].map(
  (seconds) => seconds * 1_000,
);

const counts = { created: count, completed: count, failed: count, retried: count };

const readStatistics = get({
  path: "statistics",
  needs: "read",
  summary: "What all processes counted: over time, and by type. Percentiles are estimates.",
  isExpensive: true,
  query: {
    from: optional(moment),
    before: optional(moment),
    minutes: withDefault(whole({ min: 1, max: longestRangeMs / 60_000 }), 60),
  },
  answer: objectSchema({
    from: date,
    before: date,
    width: count,
    isEstimate: boolean,
    points: listOfSchema(objectSchema({ at: date, ...counts })),
    types: listOfSchema(
      objectSchema({
        queue: text,
        typeName: text,
        ...counts,
        startP50: nullable(number),
        startP95: nullable(number),
        runP50: nullable(number),
        runP95: nullable(number),
      }),
    ),
  }),
  handle: async ({ leasehold, stateAdapter, now }, { query }) => {
    const before = query.before ?? new Date(await now());
    const wanted = query.from ?? new Date(before.getTime() - query.minutes * 60_000);
    const range = before.getTime() - wanted.getTime();
    if (range <= 0 || range > longestRangeMs)
      throw badRequest('"from" must be before "before", by 90 days at most.');
    const width = steps.find((step) => range / step <= mostPoints) ?? steps.at(-1)!;
    const from = new Date(Math.floor(wanted.getTime() / width) * width);
    const hasHistory = stateAdapter.history !== undefined;
    const [stretches, all] = hasHistory
      ? await Promise.all([
          leasehold.getStatistics({ from, before, everyMs: width }),
          leasehold.getStatistics({ from, before }),
        ])
      : [[], []];
    const points = new Map<number, { created: number; completed: number; failed: number; retried: number }>();
    for (const step of stretches) {
      const at = step.from.getTime();
      const point = points.get(at) ?? { created: 0, completed: 0, failed: 0, retried: 0 };
      for (const name of ["created", "completed", "failed", "retried"] as const) point[name] += step[name];
      points.set(at, point);
    }
    return {
      from: from.toISOString(),
      before: before.toISOString(),
      width,
      isEstimate: true,
      points: [...points]
        .sort(([a], [b]) => a - b)
        .map(([at, point]) => ({ at: new Date(at).toISOString(), ...point })),
      types: all.map(({ queue, typeName, created, completed, failed, retried, estimated }) => ({
        queue,
        typeName,
        created,
        completed,
        failed,
        retried,
        startP50: estimated.timeToStartMs?.p50 ?? null,
        startP95: estimated.timeToStartMs?.p95 ?? null,
        runP50: estimated.runTimeMs?.p50 ?? null,
        runP95: estimated.runTimeMs?.p95 ?? null,
      })),
    };
  },
});

const readSituation = get({
  path: "situation",
  needs: "read",
  isTopic: true,
  summary: "How things are, in sentences.",
  answer: objectSchema({
    level: { type: "string", enum: ["calm", "attention", "trouble"] },
    sentences: listOfSchema(objectSchema({ text, href: nullable(text) })),
  }),
  handle: async (services) => describeSituation(services),
});

export const historyRoutes: readonly Route[] = [listCauses, listProcesses, readStatistics, readSituation];
