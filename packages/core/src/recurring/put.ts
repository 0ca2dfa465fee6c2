import { InvalidOptionError } from "../base/errors.ts";
import {
  largestInt32,
  type OptionNames,
  requireArray,
  requireBoolean,
  requireId,
  requireInteger,
  requireName,
  requireNestedOptions,
  requirePlainObject,
} from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { operation, resolveTransaction } from "../engine/operation.ts";
import { jobSettingNames } from "../job-types/settings.ts";
import { buildNewJob, type JobRequest } from "../jobs/new-job.ts";
import type { NewRecurringJob, Recurring, StateRecurringJob } from "../store/contract/recurring.ts";
import { RecurringJobOwnedByOtherError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import { changeRecurringJob, requireFound, requireVersion, timesFrom, withoutWaiting } from "./change.ts";
import { emptyTickHistory, writeTickHistory } from "./decide-tick.ts";
import {
  parsePolicies,
  policyOptionNames,
  readDefinition,
  type RecurringDefinition,
  templateOf,
  writeDefinition,
} from "./definition.ts";
import { parseTimetable, timetableOptionNames } from "./timetable.ts";

const jobOptionNames = { ...jobSettingNames, typeName: true, input: true } as const;

type PutOptionName =
  | keyof typeof timetableOptionNames
  | keyof typeof policyOptionNames
  | "id"
  | "job"
  | "paused"
  | "expectedVersion";

const putOptionNames: OptionNames<PutOptionName> = {
  ...timetableOptionNames,
  ...policyOptionNames,
  id: true,
  job: true,
  paused: true,
  expectedVersion: true,
};

export interface RecurringRequest {
  readonly id: string;
  readonly definition: RecurringDefinition;
  /** Undefined leaves it as it is. */
  readonly paused: boolean | undefined;
  readonly expectedVersion: number | undefined;
}

/** Checks everything that can be said of a recurring job, the input of its job included. */
const parseRecurringJob = async (
  engine: Engine,
  options: { readonly [K in PutOptionName]?: unknown },
): Promise<RecurringRequest> => {
  const { paused, expectedVersion } = options;
  const id = requireId(options.id, "id");
  const times = parseTimetable(options);
  const policies = parsePolicies(options);
  const request = requireNestedOptions(options.job, "job", jobOptionNames) as JobRequest;
  requireNoBlockers(engine, requireName(request.typeName, "job.typeName"));
  const job = await buildNewJob(engine, request, null, "job.");
  return {
    id,
    definition: { format: 1, times, policies, job: templateOf(job) },
    paused: paused === undefined ? undefined : requireBoolean(paused, "paused"),
    expectedVersion:
      expectedVersion === undefined
        ? undefined
        : requireInteger(expectedVersion, "expectedVersion", { min: 0, max: largestInt32 }),
  };
};

/** A recurring job cannot start blockers. */
const requireNoBlockers = (engine: Engine, typeName: string): void => {
  if ((engine.jobTypes.get(typeName).blockers ?? []).length === 0) return;
  throw new InvalidOptionError(
    "job.typeName",
    "must be a job type without blockers: let its handler start the job that waits for others",
    typeName,
  );
};

export const putRecurringJob = (engine: Engine, passed: unknown): Promise<StateRecurringJob> =>
  operation(
    engine,
    "recurring.put",
    passed,
    { options: putOptionNames, part: "recurring" },
    async ({ options, ctx }) => {
      return storeRecurringJob(
        engine,
        "recurring.put",
        ctx,
        await parseRecurringJob(engine, options),
        undefined,
      );
    },
  );

/** `owner` is the program that declares it in code; undefined for a call at run time, which leaves the owner alone. */
const storeRecurringJob = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  { id, definition, paused, expectedVersion }: RecurringRequest,
  owner: string | undefined,
): Promise<StateRecurringJob> =>
  changeRecurringJob(engine, operation, ctx, id, ({ row, now }) => {
    requireVersion(id, row, expectedVersion);
    requireOwner(id, row, owner);
    return row === undefined
      ? createRow(id, definition, paused ?? false, owner ?? null, now)
      : changeRow(row, definition, paused ?? row.paused, owner ?? row.owner, now);
  });

/** Two programs that declare the same id would undo each other's work at every start. */
const requireOwner = (id: string, row: StateRecurringJob | undefined, owner: string | undefined): void => {
  if (owner !== undefined && row !== undefined && row.owner !== null && row.owner !== owner)
    throw new RecurringJobOwnedByOtherError(id, row.owner, owner);
};

const createRow = (
  id: string,
  definition: RecurringDefinition,
  paused: boolean,
  owner: string | null,
  now: number,
): NewRecurringJob => ({
  id,
  definition: writeDefinition(definition),
  owner,
  paused,
  version: 1,
  ...timesFrom(id, definition, now),
  lastSequenceId: null,
  tickHistory: writeTickHistory(emptyTickHistory),
});

const changeRow = (
  row: StateRecurringJob,
  definition: RecurringDefinition,
  paused: boolean,
  owner: string | null,
  now: number,
): NewRecurringJob | StateRecurringJob => {
  const text = writeDefinition(definition);
  if (text === row.definition && paused === row.paused && owner === row.owner) return row;
  const changed = { ...row, definition: text, paused, owner, version: row.version + 1 };
  // A new input must not cost the run that is just due.
  if (hasSameTimes(row, definition) && paused === row.paused) return changed;
  return { ...changed, ...timesFrom(row.id, definition, now), tickHistory: withoutWaiting(row, now) };
};

const hasSameTimes = (row: StateRecurringJob, definition: RecurringDefinition): boolean => {
  try {
    const before = readDefinition(row.id, row.definition);
    const timesOf = ({ times, policies }: RecurringDefinition): string =>
      JSON.stringify([times, policies.jitterMs]);
    return timesOf(before) === timesOf(definition);
  } catch {
    // What cannot be read is replaced as a whole.
    return false;
  }
};

/** Changes whether it is paused. What falls due meanwhile is not made up for. */
export const setPaused = async (
  engine: Engine,
  operation: "recurring.pause" | "recurring.resume",
  passed: unknown,
  paused: boolean,
): Promise<StateRecurringJob> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, operation, options, { id: true, expectedVersion: true });
  const id = requireId(options["id"], "id");
  const { expectedVersion } = options;
  const expected =
    expectedVersion === undefined
      ? undefined
      : requireInteger(expectedVersion, "expectedVersion", { min: 0 });
  return changeRecurringJob(engine, operation, ctx, id, ({ row: found, now }) => {
    const row = requireFound(id, found);
    requireVersion(id, row, expected);
    if (row.paused === paused) return row;
    const times = timesFrom(id, readDefinition(id, row.definition), now);
    return { ...row, paused, version: row.version + 1, ...times, tickHistory: withoutWaiting(row, now) };
  });
};

const { expectedVersion: _expectedVersion, ...declarationNames } = putOptionNames;

const pageSize = 1_000;

/**
 * Puts the recurring jobs that a program has in its code. All of them are checked before the first is written. Where nothing
 * has changed, nothing is: processes that start at the same time do not get in each other's way.
 */
export const declareRecurringJobs = async (engine: Engine, passed: unknown): Promise<void> => {
  if (passed === undefined) return;
  const options = requireNestedOptions<"jobs" | "owner" | "removeOthers">(passed, "recurringJobs", {
    jobs: true,
    owner: true,
    removeOthers: true,
  });
  const recurring = requirePart(engine.store, "recurring", "The option `recurringJobs` of createLeasehold");
  const owner = options.owner === undefined ? "default" : requireName(options.owner, "recurringJobs.owner");
  const removeOthers =
    options.removeOthers !== undefined && requireBoolean(options.removeOthers, "recurringJobs.removeOthers");
  const requests = await parseDeclarations(engine, options.jobs);
  for (const request of requests)
    await storeRecurringJob(engine, "createLeasehold", undefined, request, owner);
  if (removeOthers) await deleteOthers(recurring, owner, new Set(requests.map(({ id }) => id)));
};

const parseDeclarations = async (engine: Engine, jobs: unknown): Promise<RecurringRequest[]> => {
  const requests: RecurringRequest[] = [];
  const ids = new Set<string>();
  for (const [index, job] of requireArray(jobs, "recurringJobs.jobs", { maxLength: 10_000 }).entries()) {
    const path = `recurringJobs.jobs[${index}]`;
    const request = await parseRecurringJob(engine, requireNestedOptions(job, path, declarationNames));
    if (ids.has(request.id))
      throw new InvalidOptionError(`${path}.id`, "must not be declared twice", request.id);
    ids.add(request.id);
    requests.push(request);
  }
  return requests;
};

const deleteOthers = async (
  recurring: Recurring<object>,
  owner: string,
  declared: ReadonlySet<string>,
): Promise<void> => {
  let after: string | null = null;
  for (;;) {
    const rows: { readonly id: string }[] = await recurring.listRecurring({ owner, limit: pageSize, after });
    const ids = rows.map(({ id }) => id).filter((id) => !declared.has(id));
    if (ids.length > 0) await recurring.deleteRecurring({ ids });
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
};

/** Removes a recurring job. What it has started stays. Returns whether it was there. */
export const deleteRecurringJob = async (
  engine: Engine,
  passed: unknown,
): Promise<{ readonly deleted: boolean }> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, "recurring.delete", options, { id: true });
  const id = requireId(options["id"], "id");
  const { deleteRecurring } = requirePart(engine.store, "recurring", "recurring.delete");
  return { deleted: (await deleteRecurring({ ctx, ids: [id] })).length > 0 };
};
