import { type AnyJob, findByShortId, isShortId, type JobExplanation } from "leasehold";
import { actionQueue } from "leasehold/adapter";
import {
  dueTimes,
  filterFields,
  requireFilterRights,
  scheduledWhen,
  statusField,
} from "../actions/job-filter.ts";
import {
  type ActionKind,
  type Explanation,
  jobDetail,
  type JobOffer,
  jobPage,
  type JobRow,
  type StoredError,
} from "../answers/jobs.ts";
import { HttpError, notFound } from "../http/errors.ts";
import { oneOf, optional, text, whole, withDefault } from "../http/fields.ts";
import { toJson } from "../http/leasehold.ts";
import { isHiddenValue } from "../http/restore-hidden.ts";
import { hide, type RedactionPlace, type Viewer } from "../http/rights.ts";
import { get, type Route, type Services } from "./route.ts";

const iso = (date: Date | null | undefined): string | null => date?.toISOString() ?? null;

const endOf = (job: AnyJob): Date | null => {
  if (job.status === "completed") return job.completedAt;
  return job.status === "failed" ? job.failure.at : null;
};

const longestInputLine = 200;

/** For lists, where jobs of one type look alike. Null if there is no input, or if it is hidden as a whole. */
const viewInputLine = (input: unknown): string | null => {
  if (input === null || isHiddenValue(input)) return null;
  const line = JSON.stringify(input, (_key, value: unknown) => (isHiddenValue(value) ? "(hidden)" : value));
  return line.slice(0, longestInputLine);
};

const viewJobRow = ({ redact }: Services, viewer: Viewer, job: AnyJob): JobRow => {
  const { id, typeName, queue } = job;
  const error = job.status === "failed" ? job.failure.error : job.lastError;
  const key = redact.payload(viewer, { id, typeName, queue }, "deduplicationKey", job.deduplicationKey);
  return {
    id,
    typeName,
    queue,
    status: job.status,
    sequenceId: job.sequenceId,
    sequenceTypeName: job.sequenceTypeName,
    rootSequenceId: job.rootSequenceId,
    originId: job.originId,
    priority: job.priority,
    attempt: job.attempt,
    createdAt: job.createdAt.toISOString(),
    scheduledAt: job.scheduledAt.toISOString(),
    startedAt: iso(job.lastAttemptAt),
    endedAt: iso(endOf(job)),
    failureReason: job.status === "failed" ? job.failure.reason : null,
    error: error === null ? null : viewError({ redact }, viewer, { id, typeName, queue }, error),
    leasedBy: job.status === "running" ? job.leasedBy : null,
    group: job.group,
    deduplicationKey: typeof key === "string" ? key : null,
    inputLine: viewInputLine(redact.payload(viewer, job, "input", job.input)),
  };
};

/** The name and the code of an error are no payloads; its message may contain some. */
export const viewError = (
  { redact }: Pick<Services, "redact">,
  viewer: Viewer,
  job: RedactionPlace["job"],
  error: NonNullable<AnyJob["lastError"]>,
  path: readonly string[] = [],
): StoredError => {
  const { name, message, stack, code, cause } = error;
  const show = (key: string, value: string): unknown =>
    redact.payload(viewer, job, "error", value, [...path, key]);
  const shownName = redact.label(job, [...path, "name"], name);
  const shownMessage = show("message", message);
  // A stack begins with the name and the message.
  const isShown = shownName === name && shownMessage === message;
  return {
    name: shownName,
    message: shownMessage,
    ...(code !== undefined && { code: redact.label(job, [...path, "code"], code) }),
    ...(stack !== undefined && { stack: isShown ? show("stack", stack) : hide(stack) }),
    ...(cause !== undefined && { cause: viewError({ redact }, viewer, job, cause, [...path, "cause"]) }),
  };
};

/** Without errors, which the job and its attempts have: the rest are names, ids and times, which every viewer sees. */
const viewExplanation = (explanation: JobExplanation): Explanation => {
  const {
    lastError: _lastError,
    failure: _failure,
    ...rest
  } = toJson<object>(explanation) as Record<string, unknown>;
  return rest;
};

/** The payloads of a job, as far as the viewer may see them. */
const viewPayloads = (
  { redact }: Services,
  viewer: Viewer,
  job: AnyJob,
): Readonly<Record<"input" | "output" | "progress", unknown>> => ({
  input: redact.payload(viewer, job, "input", job.input),
  output: redact.payload(viewer, job, "output", job.status === "completed" ? job.output : null),
  progress: redact.payload(viewer, job, "progress", job.progress),
});

/** Whether the visible part of an input contains a text. A search for hidden text finds nothing. */
const showsText = (services: Services, viewer: Viewer, job: AnyJob, wanted: string): boolean => {
  const shown = JSON.stringify(viewPayloads(services, viewer, job).input);
  return shown.includes(JSON.stringify(wanted).slice(1, -1));
};

type ListOptions = Parameters<Services["leasehold"]["jobs"]["list"]>[0];

const searchBudgetMs = 1_000;

const mostSearched = 20_000;

const searchPage = 500;

/**
 * Searches in what the viewer sees, not in the store: the store would end its pages at matches in hidden values, so that its
 * cursors would give them away. Ends when the page is full, or after a time or a number of jobs, whatever these contain.
 */
const searchJobs = async (
  services: Services,
  viewer: Viewer,
  options: ListOptions,
  wanted: string,
  limit: number,
  signal: AbortSignal,
) => {
  const { list } = services.leasehold.jobs;
  const end = performance.now() + searchBudgetMs;
  const found: AnyJob[] = [];
  let cursor = options?.cursor ?? null;
  for (let searched = 0; ; searched += searchPage) {
    // Stops when the client has disconnected.
    signal.throwIfAborted();
    const from = { ...options, ...(cursor !== null && { cursor }) };
    const page = await list({ ...from, limit: searchPage });
    const matches = page.jobs.filter((job) => showsText(services, viewer, job, wanted));
    const last = matches[limit - found.length - 1];
    found.push(...matches.slice(0, limit - found.length));
    if (last !== undefined && last !== page.jobs.at(-1)) {
      // The next page begins behind the last match that is shown.
      const shown = await list({ ...from, limit: page.jobs.indexOf(last) + 1 });
      return { jobs: found, cursor: shown.cursor, searchedTo: last.createdAt };
    }
    cursor = page.cursor;
    const isOver =
      found.length === limit || searched + searchPage >= mostSearched || performance.now() >= end;
    if (cursor === null || isOver)
      return {
        jobs: found,
        cursor,
        searchedTo: cursor === null ? null : (page.searchedTo ?? page.jobs.at(-1)?.createdAt ?? null),
      };
  }
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
  answer: jobPage,
  // A filter that few jobs match makes the store read many.
  isExpensive: ({ status: _status, order: _order, limit: _limit, cursor: _cursor, ...filter }) =>
    Object.keys(filter).length > 0,
  handle: async (services, { query: { inputContains, due, ...query }, viewer, signal }) => {
    requireFilterRights(viewer, { ...query, inputContains });
    const time = services.now();
    const scheduled = due === undefined ? {} : scheduledWhen(due, await time);
    const options = { ...query, ...scheduled };
    const [{ jobs, cursor, searchedTo }, now] = await Promise.all([
      inputContains === undefined
        ? services.leasehold.jobs.list(options)
        : searchJobs(services, viewer, options, inputContains, query.limit, signal),
      time,
    ]);
    return {
      jobs: jobs.map((job) => viewJobRow(services, viewer, job)),
      cursor,
      searchedTo: searchedTo?.toISOString() ?? null,
      now: new Date(now).toISOString(),
    };
  },
});

export const requireJob = async ({ leasehold }: Services, id: string): Promise<AnyJob> => {
  const [short, other] = isShortId(id) ? await findByShortId(leasehold, id) : [];
  if (other !== undefined)
    throw new HttpError(409, "ambiguous_id", "This is the short form of several ids.", {
      hint: "Pass the whole id.",
    });
  const job = short ?? (await leasehold.jobs.get({ id }));
  if (job === undefined) throw notFound("job with this id; it may have been deleted");
  return job;
};

/** The actions that change something about why it waits, by the state of its explanation. */
const editsOf: Partial<Record<JobExplanation["state"], readonly ActionKind[]>> = {
  scheduled: ["run_now", "reschedule"],
  retrying: ["run_now", "reschedule"],
  runnable: ["reschedule"],
  throttled: ["reschedule"],
};

/** The actions that change something. The store checks again when one is run. */
const actionsOn = (
  { status, queue }: AnyJob,
  { state }: JobExplanation,
  { edits }: Services["stateAdapter"],
): ActionKind[] => {
  if (queue === actionQueue) return [];
  if (status === "failed") return ["redrive", "delete"];
  if (status === "completed") return ["delete"];
  // A store without the part `edits` cannot change a waiting job.
  return [...((edits && status === "pending" && editsOf[state]) || []), "cancel"];
};

/** What its status allows besides plans. */
const offersOn = ({ status, queue }: AnyJob, { edits }: Services["stateAdapter"]): JobOffer[] => {
  if (queue === actionQueue || status === "running" || status === "completed") return [];
  const offers: JobOffer[] = status === "failed" ? [] : ["complete"];
  return edits === undefined ? offers : [...offers, "edit"];
};

export const getJob: Route = get({
  path: "jobs/:id",
  needs: "read",
  summary: "One job: why it is where it is, what it carries, what it waits for.",
  answer: jobDetail,
  handle: async (services, { params, viewer }) => {
    const { leasehold } = services;
    const job = await requireJob(services, params["id"]!);
    const [explanation, blockers, { jobs }, attempts, now] = await Promise.all([
      leasehold.jobs.explain({ id: job.id }),
      leasehold.jobs.listBlockers({ id: job.id }),
      leasehold.jobs.listInSequence({ id: job.sequenceId, limit: 100 }),
      services.stateAdapter.history === undefined ? [] : leasehold.history.listAttempts({ id: job.id }),
      services.now(),
    ]);
    return {
      job: { ...viewJobRow(services, viewer, job), ...viewPayloads(services, viewer, job) },
      explanation: viewExplanation(explanation),
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
      actions: actionsOn(job, explanation, services.stateAdapter),
      offers: offersOn(job, services.stateAdapter),
      traceUrl: services.traceUrl?.({ id: job.id }) ?? null,
      now: new Date(now).toISOString(),
    };
  },
});
