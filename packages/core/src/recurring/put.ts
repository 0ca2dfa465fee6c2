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
import { RecurringJobOwnedByOtherError, RecurringJobRefusedError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import { changeRecurringJobs, requireFound, requireVersion, timesFrom } from "./change.ts";
import { readTickHistory } from "./decide-tick.ts";
import {
  parsePolicies,
  policyOptionNames,
  readDefinition,
  type RecurringDefinition,
  templateOf,
  writeDefinition,
} from "./definition.ts";
import { createJob } from "./tick.ts";
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
      const request = await parseRecurringJob(engine, options);
      const [stored] = await storeRecurringJobs(engine, "recurring.put", ctx, [request], undefined);
      return stored!;
    },
  );

/** `owner` is the program that declares them in code; undefined for a call at run time, which leaves the owner alone. */
const storeRecurringJobs = (
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  requests: readonly RecurringRequest[],
  owner: string | undefined,
): Promise<StateRecurringJob[]> => {
  const ids = requests.map(({ id }) => id);
  return changeRecurringJobs(engine, operation, ctx, ids, async ({ rows, now, ctx: inner }) => {
    const changed = requests.map(({ id, definition, paused, expectedVersion }, index) => {
      const row = rows[index];
      requireVersion(id, row, expectedVersion);
      requireOwner(id, row, owner);
      return row === undefined
        ? createRow(id, definition, paused ?? false, owner ?? null, now)
        : changeRow(row, definition, paused ?? row.paused, owner ?? row.owner, now);
    });
    const isNew = (_request: RecurringRequest, index: number): boolean =>
      changed[index]!.definition !== rows[index]?.definition;
    await requireStartable(engine, inner, requests.filter(isNew));
    return changed;
  });
};

/**
 * Creates the jobs and rolls them back, because only the store can check all of it. In a store without savepoints that
 * would roll back the whole transaction, so it has a transaction of its own there.
 */
export const requireStartable = async (
  engine: Engine,
  ctx: object,
  requests: readonly Pick<RecurringRequest, "id" | "definition">[],
): Promise<void> => {
  const [first, ...others] = requests;
  if (first === undefined) return;
  const { store } = engine;
  const undo = new Error("The jobs were only tried.");
  const parent = store.capabilities.savepoints ? ctx : undefined;
  const trials = requests.map(({ definition: { job } }) =>
    // Without its group: creating it would also create what the store keeps for the group.
    createJob({ ...job, group: null, ordered: null }, engine.createId(), null),
  );
  try {
    await store.runInTransaction(async (inner) => {
      await store.createJobs({ ctx: inner, jobs: trials });
      throw undo;
    }, parent);
  } catch (error) {
    if (error === undo) return;
    if (store.isTransientError(error) || store.isConflictRollback(error)) throw error;
    if (others.length === 0) throw new RecurringJobRefusedError(first.id, error);
    // One by one, to find the one that is refused.
    for (const request of requests) await requireStartable(engine, ctx, [request]);
  }
};

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
  ...timesFrom(id, definition, now, undefined),
  lastSequenceId: null,
});

export const changeRow = (
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
  if (hasSameTimes(row, definition) && paused === row.paused) return retryAtOnce(changed, now);
  return { ...changed, ...timesFrom(row.id, definition, now, row) };
};

/** The change may be what the job needs to be started. */
const retryAtOnce = <TRow extends NewRecurringJob>(row: TRow, now: number): TRow =>
  readTickHistory(row.tickHistory).failure === null ? row : { ...row, runsAt: now };

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
  const [changed] = await changeRecurringJobs(engine, operation, ctx, [id], ({ rows, now }) => {
    const row = requireFound(id, rows[0]);
    requireVersion(id, row, expected);
    if (row.paused === paused) return [row];
    const times = timesFrom(id, readDefinition(id, row.definition), now, row);
    return [{ ...row, paused, version: row.version + 1, ...times }];
  });
  return changed!;
};

const { expectedVersion: _expectedVersion, ...declarationNames } = putOptionNames;

const readBatchSize = 1_000;
// PostgreSQL holds a lock for each id until the transaction ends, and has room for a few thousand.
const writeBatchSize = 500;

/**
 * Puts the recurring jobs that a program has in its code. All of them are checked before the first is written. If none has
 * changed, nothing is written or locked: processes that start at the same time do not get in each other's way.
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
  const rows = removeOthers ? await listOwned(recurring, owner) : new Map<string, StateRecurringJob>();
  const unread = requests.map(({ id }) => id).filter((id) => !rows.has(id));
  for (const ids of portions(unread, readBatchSize))
    for (const row of await recurring.getRecurring({ ids })) if (row !== undefined) rows.set(row.id, row);

  const changed = requests.filter((request) => {
    const row = rows.get(request.id);
    requireOwner(request.id, row, owner);
    return row === undefined || !isSame(row, request, owner);
  });
  for (const some of portions(changed, writeBatchSize))
    await storeRecurringJobs(engine, "createLeasehold", undefined, some, owner);
  if (!removeOthers) return;
  const declared = new Set(requests.map(({ id }) => id));
  const others = [...rows.values()].filter((row) => row.owner === owner && !declared.has(row.id));
  if (others.length > 0) await recurring.deleteRecurring({ ids: others.map(({ id }) => id) });
};

const portions = function* <T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
};

const isSame = (row: StateRecurringJob, { definition, paused }: RecurringRequest, owner: string): boolean =>
  writeDefinition(definition) === row.definition &&
  (paused ?? row.paused) === row.paused &&
  owner === row.owner;

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

/** What this program has declared before. */
const listOwned = async (
  recurring: Recurring<object>,
  owner: string,
): Promise<Map<string, StateRecurringJob>> => {
  const found = new Map<string, StateRecurringJob>();
  let after: string | null = null;
  for (;;) {
    const rows: StateRecurringJob[] = await recurring.listRecurring({ owner, limit: readBatchSize, after });
    for (const row of rows) found.set(row.id, row);
    if (rows.length < readBatchSize) return found;
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
