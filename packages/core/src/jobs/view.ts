import { decodePayload } from "../base/codec.ts";
import type { OptionNames } from "../base/options.ts";
import { parseStoredError } from "../base/stored-error.ts";
import type { Engine } from "../engine/engine.ts";
import type {
  AnyJob,
  AnyJobSequence,
  CompletedJobSequence,
  JobFailure,
  JobRecurrence,
  JobWithoutBlockers,
} from "../job-types/entities.ts";
import type { StateJob, StateSequence } from "../store/contract/job.ts";

/** As it is stored with the job. */
export const writeJobRecurrence = (id: string, nominalAt: number, missed: number): string =>
  JSON.stringify({ id, nominalAt, missed });

const readJobRecurrence = (stored: string | null): JobRecurrence | null => {
  // A job that was stored before there were recurring jobs may lack it altogether.
  if (stored == null) return null;
  const { id, nominalAt, missed } = JSON.parse(stored) as { id: string; nominalAt: number; missed: number };
  return { id, nominalAt: new Date(nominalAt), missed };
};

/*
 * What users see of stored jobs: payloads decoded, times as dates, and by status only the fields that mean something.
 * The fields are set one by one, so each view is cast to its shape at the end.
 */
export type JobView = AnyJob;

export type SequenceView = AnyJobSequence;
/** What became of a start. */
export interface StartedSequence {
  readonly sequence: StateSequence;
  /** The sequence was there before; nothing was created. */
  readonly deduplicated: boolean;
  /** The start has taken the place of the job that waited there. */
  readonly replaced: boolean;
}

export type StartedSequenceView = SequenceView & {
  readonly deduplicated: boolean;
  readonly replaced: boolean;
};

type Fields = Record<string, unknown>;

type FieldOf<TView> = TView extends unknown ? keyof TView & string : never;

/** What views consist of: a job or sequence can itself be passed wherever its id is asked for. */
export const viewFields: OptionNames<FieldOf<JobView | StartedSequenceView>> = {
  id: true,
  status: true,
  typeName: true,
  sequenceId: true,
  sequenceTypeName: true,
  rootSequenceId: true,
  originId: true,
  queue: true,
  priority: true,
  input: true,
  output: true,
  progress: true,
  createdAt: true,
  scheduledAt: true,
  attempt: true,
  maxAttempts: true,
  timeoutMs: true,
  group: true,
  expireAfterMs: true,
  lastError: true,
  lastAttemptAt: true,
  lastFailedAt: true,
  deduplicationKey: true,
  recurrence: true,
  replacedBy: true,
  leasedBy: true,
  leasedUntil: true,
  completedAt: true,
  completedBy: true,
  continuedToId: true,
  failure: true,
  blockers: true,
  currentJobId: true,
  currentTypeName: true,
  deduplicated: true,
  replaced: true,
};

const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

const decode = (engine: Engine, text: string | null, path: string): unknown =>
  text === null ? null : decodePayload(engine.codec, text, path);

export const viewFailure = (job: StateJob): JobFailure<string> => ({
  reason: job.failureReason!,
  error: parseStoredError(job.lastError),
  at: new Date(job.failedAt!),
  attempt: job.attempt,
  blockerSequenceId: job.failedBlockerId,
});

const viewOutput = (engine: Engine, job: StateJob): unknown =>
  job.continuedToId === null ? decode(engine, job.output, "output") : undefined;

/** Adds what the status gives a meaning to. By assignment: spreading into the literal would cost every job a copy. */
const addStatusFields = (engine: Engine, job: StateJob, view: Fields): void => {
  switch (job.status) {
    case "running":
      view["leasedBy"] = job.leasedBy;
      view["leasedUntil"] = date(job.leasedUntil);
      break;
    case "completed":
      view["completedAt"] = date(job.completedAt);
      view["completedBy"] = job.completedBy;
      view["continuedToId"] = job.continuedToId;
      view["output"] = viewOutput(engine, job);
      break;
    case "failed":
      view["failure"] = viewFailure(job);
      break;
    case "blocked":
    case "pending":
  }
};

/** `input` replaces the stored one where a schema has turned it into something else. */
const jobFields = (
  engine: Engine,
  job: StateJob,
  input: unknown = decode(engine, job.input, "input"),
): Fields => {
  const view: Fields = {
    id: job.id,
    status: job.status,
    typeName: job.typeName,
    sequenceId: job.sequenceId,
    sequenceTypeName: job.sequenceTypeName,
    rootSequenceId: job.rootSequenceId,
    originId: job.originId,
    queue: job.queue,
    priority: job.priority,
    input,
    createdAt: new Date(job.createdAt),
    scheduledAt: new Date(job.scheduledAt),
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    timeoutMs: job.timeoutMs,
    group: job.group,
    expireAfterMs: job.expireAfterMs,
    progress: decode(engine, job.progress, "progress"),
    lastError: job.lastError === null ? null : parseStoredError(job.lastError),
    lastAttemptAt: date(job.lastAttemptAt),
    lastFailedAt: date(job.lastFailedAt),
    deduplicationKey: job.deduplicationKey,
    recurrence: readJobRecurrence(job.recurrence),
    replacedBy: job.replacedBy,
  };
  addStatusFields(engine, job, view);
  return view;
};

export const viewJobWithoutBlockers = (engine: Engine, job: StateJob): JobWithoutBlockers<JobView> =>
  jobFields(engine, job) as unknown as JobWithoutBlockers<JobView>;

/** Decodes a payload when it is read: most callers of `continueWith` and `complete` only return what they got. */
const decodeLater = (engine: Engine, view: Fields, name: string, text: string | null): void => {
  const get = (): unknown => {
    const value = decode(engine, text, name);
    Object.defineProperty(view, name, { value, enumerable: true });
    return value;
  };
  Object.defineProperty(view, name, { get, enumerable: true, configurable: true });
};

/** What `continueWith` returns: the new job. The sequences it waits for are not read. */
export const viewContinuation = (engine: Engine, job: StateJob): object => {
  const view = jobFields(engine, job, null);
  decodeLater(engine, view, "input", job.input);
  return view;
};

export interface CompletionFields {
  readonly completedAt: number;
  readonly completedBy: string | null;
  readonly output: string | null;
  readonly continuedToId: string | null;
  /** Encoded, if the handler has reported any. */
  readonly progress: string | undefined;
}

/** To decode a shorter one takes less time than to define a property that does so later. */
const longOutput = 500;

/**
 * What `complete` returns to a handler: the job as it got it, completed. Each property by its name, because a copy by spreading
 * takes six times as long.
 */
export const viewCompletedJob = (engine: Engine, running: JobView, completion: CompletionFields): object => {
  const job = running as unknown as Fields;
  const { completedAt, completedBy, output, continuedToId, progress } = completion;
  const isLong = output !== null && output.length > longOutput;
  const view: Fields = {
    id: job["id"],
    status: "completed",
    typeName: job["typeName"],
    sequenceId: job["sequenceId"],
    sequenceTypeName: job["sequenceTypeName"],
    rootSequenceId: job["rootSequenceId"],
    originId: job["originId"],
    queue: job["queue"],
    priority: job["priority"],
    input: job["input"],
    createdAt: job["createdAt"],
    scheduledAt: job["scheduledAt"],
    attempt: job["attempt"],
    maxAttempts: job["maxAttempts"],
    timeoutMs: job["timeoutMs"],
    group: job["group"],
    expireAfterMs: job["expireAfterMs"],
    progress: progress === undefined ? job["progress"] : decode(engine, progress, "progress"),
    lastError: job["lastError"],
    lastAttemptAt: job["lastAttemptAt"],
    lastFailedAt: job["lastFailedAt"],
    deduplicationKey: job["deduplicationKey"],
    recurrence: job["recurrence"],
    replacedBy: job["replacedBy"],
    blockers: job["blockers"],
    completedAt: new Date(completedAt),
    completedBy,
    continuedToId,
    output: isLong || continuedToId !== null ? undefined : decode(engine, output, "output"),
  };
  if (isLong) decodeLater(engine, view, "output", output);
  return view;
};

const sequenceFields = (engine: Engine, { first, current }: StateSequence): Fields => {
  const view: Fields = {
    id: first.id,
    typeName: first.typeName,
    rootSequenceId: first.rootSequenceId,
    originId: first.originId,
    input: decode(engine, first.input, "input"),
    createdAt: new Date(first.createdAt),
    currentJobId: current.id,
    currentTypeName: current.typeName,
    status: current.status,
  };
  if (current.status === "completed") {
    view["completedAt"] = date(current.completedAt);
    view["output"] = viewOutput(engine, current);
  }
  if (current.status === "failed") view["failure"] = viewFailure(current);
  return view;
};

export const viewSequence = (engine: Engine, sequence: StateSequence): SequenceView =>
  sequenceFields(engine, sequence) as unknown as SequenceView;

export const viewCompleted = (engine: Engine, sequence: StateSequence): CompletedJobSequence<SequenceView> =>
  sequenceFields(engine, sequence) as unknown as CompletedJobSequence<SequenceView>;

export const viewStarted = (
  engine: Engine,
  { sequence, deduplicated, replaced }: StartedSequence,
): StartedSequenceView => {
  const view = sequenceFields(engine, sequence);
  view["deduplicated"] = deduplicated;
  view["replaced"] = replaced;
  return view as unknown as StartedSequenceView;
};

export const viewJob = (
  engine: Engine,
  job: StateJob,
  blockers: readonly StateSequence[],
  input?: unknown,
): JobView => {
  const view = jobFields(engine, job, input);
  view["blockers"] = blockers.map((sequence) => viewSequence(engine, sequence));
  return view as unknown as JobView;
};

/** Jobs together with the sequences they waited for, which are read only for jobs that have any. */
export const viewJobs = async (
  engine: Engine,
  ctx: object | undefined,
  jobs: readonly StateJob[],
): Promise<JobView[]> => {
  const withBlockers = jobs.filter(({ blockerCount }) => blockerCount > 0);
  const blockers =
    withBlockers.length === 0
      ? []
      : await engine.store.getBlockers({ ctx, jobIds: withBlockers.map(({ id }) => id) });
  const blockersOf = new Map(withBlockers.map((job, index) => [job.id, blockers[index]!]));
  return jobs.map((job) => viewJob(engine, job, blockersOf.get(job.id) ?? []));
};
