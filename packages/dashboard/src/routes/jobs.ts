import type { Explanation, JobDetail, JobPage } from "../answers.ts";
import type { AnyJob } from "leasehold";
import { type ActionKind, actionKinds } from "../plans/planned-actions.ts";
import { oneOf, optional, text, whole, withDefault } from "../server/fields.ts";
import { notFound } from "../server/http-error.ts";
import { type Route, get } from "../server/route.ts";
import type { Viewer } from "../server/rights.ts";
import type { Services } from "../server/services.ts";
import {
  count,
  date,
  errorSchema,
  jobRow,
  listOfSchema,
  nullable,
  objectSchema,
  opaque,
  payload,
  text as textSchema,
  wordOf,
} from "./answers.ts";
import { dueTimes, filterFields, requireFilterRights, scheduledWhen, statusField } from "./job-filter.ts";
import { viewError, viewJobRow, viewPayloads } from "./job-view.ts";

/** Whether a text is in what a person may see of an input. One who looks for hidden text finds nothing. */
const showsText = (services: Services, viewer: Viewer, job: AnyJob, wanted: string): boolean => {
  const shown = JSON.stringify(viewPayloads(services, viewer, job).input);
  return shown.includes(JSON.stringify(wanted).slice(1, -1));
};

export const listJobs: Route = get({
  path: "jobs",
  needs: "read",
  summary: "Jobs that match a filter, a page at a time.",
  query: {
    ...filterFields,
    status: statusField,
    due: optional(oneOf(dueTimes)),
    inputContains: optional(text()),
    order: withDefault(oneOf(["newest", "oldest"]), "newest"),
    limit: withDefault(whole({ min: 1, max: 200 }), 50),
    cursor: optional(text({ max: 2_000 })),
  },
  answer: objectSchema<JobPage>({
    jobs: listOfSchema(objectSchema(jobRow)),
    cursor: nullable(textSchema),
    // Where a search in inputs has ended before the page was full.
    searchedTo: nullable(date),
    now: date,
  }),
  isExpensive: ({ inputContains }) => inputContains !== undefined,
  handle: async (services, { query: { inputContains, due, ...query }, viewer }) => {
    requireFilterRights(viewer, { ...query, inputContains });
    const search = inputContains === undefined ? {} : { input: { contains: inputContains } };
    const time = services.now();
    const scheduled = due === undefined ? {} : scheduledWhen(due, await time);
    const [{ jobs, cursor, searchedTo }, now] = await Promise.all([
      services.leasehold.listJobs({ ...query, ...search, ...scheduled }),
      time,
    ]);
    return {
      jobs: jobs
        .filter((job) => inputContains === undefined || showsText(services, viewer, job, inputContains))
        .map((job) => viewJobRow(services, viewer, job)),
      cursor,
      searchedTo: searchedTo?.toISOString() ?? null,
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
const actionsOn = ({ status }: AnyJob, { flow }: Services["stateAdapter"]): ActionKind[] => {
  if (status === "failed") return ["redrive", "delete"];
  if (status === "completed") return ["delete"];
  // Not every store can change a job that waits.
  return status === "running" || flow === undefined ? ["cancel"] : ["run_now", "reschedule", "cancel"];
};

export const getJob: Route = get({
  path: "jobs/:id",
  needs: "read",
  summary: "One job: why it is where it is, what it carries, what it waits for.",
  answer: objectSchema<JobDetail>({
    job: objectSchema({ ...jobRow, input: payload, output: payload, progress: payload }),
    // One for whom it is hidden gets another object.
    explanation: opaque<Explanation>(),
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
    actions: listOfSchema(wordOf(...actionKinds)),
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
      // For those who may not see payloads it is hidden as a whole, so each of its parts may be missing.
      explanation: services.redact.payload(viewer, job, "error", explanation) as Explanation,
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
      actions: actionsOn(job, services.stateAdapter),
      traceUrl: services.traceUrl?.({ id: job.id }) ?? null,
      now: new Date(now).toISOString(),
    };
  },
});
