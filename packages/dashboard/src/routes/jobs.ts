import type { AnyJob } from "leasehold";
import { oneOf, optional, text, whole, withDefault } from "../server/fields.ts";
import { notFound } from "../server/http-error.ts";
import { get, type Route } from "../server/route.ts";
import type { Services } from "../server/services.ts";
import {
  count,
  date,
  errorSchema,
  jobRow,
  listOfSchema,
  nullable,
  objectSchema,
  payload,
  text as textSchema,
} from "./answers.ts";
import { filterFields, statusField } from "./job-filter.ts";
import { viewError, viewJobRow, viewPayloads } from "./job-view.ts";

export const listJobs: Route = get({
  path: "jobs",
  needs: "read",
  summary: "Jobs that match a filter, a page at a time.",
  query: {
    ...filterFields,
    status: statusField,
    order: withDefault(oneOf(["newest", "oldest"]), "newest"),
    limit: withDefault(whole({ min: 1, max: 200 }), 50),
    cursor: optional(text({ max: 2_000 })),
  },
  answer: objectSchema({
    jobs: listOfSchema(objectSchema(jobRow)),
    cursor: nullable(textSchema),
    now: date,
  }),
  handle: async (services, { query, viewer }) => {
    const [{ jobs, cursor }, now] = await Promise.all([services.leasehold.listJobs(query), services.now()]);
    return {
      jobs: jobs.map((job) => viewJobRow(services, viewer, job)),
      cursor,
      now: new Date(now).toISOString(),
    };
  },
});

const requireJob = async ({ leasehold }: Services, id: string): Promise<AnyJob> => {
  const job = await leasehold.getJob({ id });
  if (job === undefined) throw notFound("job with this id; it may have been deleted");
  return job;
};

/** What its state allows. The server decides again when it is asked to. */
const actionsOn = ({ status }: AnyJob): string[] => {
  if (status === "failed") return ["redrive", "delete"];
  if (status === "completed") return ["delete"];
  return status === "running" ? ["cancel"] : ["run_now", "cancel"];
};

export const getJob: Route = get({
  path: "jobs/:id",
  needs: "read",
  summary: "One job: why it is where it is, what it carries, what it waits for.",
  answer: objectSchema({
    job: objectSchema({ ...jobRow, input: payload, output: payload, progress: payload }),
    explanation: payload,
    blockers: listOfSchema(objectSchema({ id: textSchema, typeName: textSchema, status: textSchema })),
    sequence: listOfSchema(objectSchema(jobRow)),
    attempts: listOfSchema(
      objectSchema({
        attempt: count,
        outcome: textSchema,
        workerId: nullable(textSchema),
        deployment: nullable(textSchema),
        dueAt: date,
        startedAt: date,
        endedAt: date,
        fingerprint: nullable(textSchema),
        error: nullable(errorSchema),
        log: payload,
      }),
    ),
    actions: listOfSchema(textSchema),
    traceUrl: nullable(textSchema),
    now: date,
  }),
  handle: async (services, { params, viewer }) => {
    const { leasehold } = services;
    const job = await requireJob(services, params["id"]!);
    const [explanation, blockers, { jobs }, attempts, now] = await Promise.all([
      leasehold.explainJob({ id: job.id }),
      leasehold.getJobBlockers({ id: job.id }),
      leasehold.listSequenceJobs({ id: job.sequenceId, limit: 100 }),
      services.stateAdapter.history === undefined ? [] : leasehold.listJobAttempts({ id: job.id }),
      services.now(),
    ]);
    return {
      job: { ...viewJobRow(services, viewer, job), ...viewPayloads(services, viewer, job) },
      explanation: services.redact.payload(viewer, job, "error", explanation),
      blockers: blockers.map(({ id, typeName, status }) => ({ id, typeName, status })),
      sequence: jobs.map((other) => viewJobRow(services, viewer, other)),
      attempts: attempts.map(({ dueAt, startedAt, endedAt, error, log, ...rest }) => ({
        ...rest,
        dueAt: dueAt.toISOString(),
        startedAt: startedAt.toISOString(),
        endedAt: endedAt.toISOString(),
        error: error && viewError(services, viewer, job, error),
        log: services.redact.payload(viewer, job, "output", log),
      })),
      actions: actionsOn(job),
      traceUrl: services.traceUrl?.({ id: job.id }) ?? null,
      now: new Date(now).toISOString(),
    };
  },
});
