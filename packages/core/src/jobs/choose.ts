import { InvalidOptionError } from "../base/errors.ts";
import {
  optionalInteger,
  requireArray,
  requireBoolean,
  requireId,
  requirePlainObject,
} from "../base/options.ts";
import type { AfterCommit, Engine } from "../engine/engine.ts";
import { announceAfter, type OperationCall, runAtomically } from "../engine/operation.ts";
import { decodeCursor, encodeCursor } from "../engine/pages.ts";
import type { JobStatus, StateJob } from "../store/contract/job.ts";
import type { JobFilter, JobPage } from "../store/contract/reads.ts";
import { listedBy, parseJobFilterFor } from "./filter.ts";

// Operations on jobs that are chosen by ids or by filter, in batches or as a dry run.

export const choiceOptions = { ids: true, filter: true, dryRun: true, limit: true, cursor: true } as const;

export interface ChoiceRules {
  /** The operation, for errors. Its cursors are valid for this operation only. */
  readonly operation: string;
  /** The statuses that the operation can change. A filter finds jobs in all of these, or in the ones that it names. */
  readonly statuses: readonly JobStatus[];
  /** The option with the ids. */
  readonly idsOption?: "ids" | "rootSequenceIds";
  /** What the operation changes: the job, its sequence or its tree. Default: the job. */
  readonly idOf?: (job: StateJob) => string;
}

interface ChosenJobs {
  readonly ids: readonly string[];
  /** Where the next call continues; null when the filter has no more jobs. */
  readonly cursor: string | null;
}

const batchSize = 500;

const chooseByIds = (options: Record<string, unknown>, idsOption: string): ChosenJobs => {
  for (const option of ["limit", "cursor"])
    if (options[option] !== undefined)
      throw new InvalidOptionError(option, "goes with `filter`", options[option]);
  const ids = requireArray(options[idsOption], idsOption, { maxLength: 100_000 });
  return {
    ids: [...new Set(ids.map((id, index) => requireId(id, `${idsOption}[${index}]`)))],
    cursor: null,
  };
};

/** A status that the operation cannot change is refused: it would find nothing, or other jobs than the caller meant. */
const requireStatuses = (
  { statuses: given }: JobFilter,
  operation: string,
  statuses: readonly JobStatus[],
): void => {
  const other = given?.find((status) => !statuses.includes(status));
  if (other === undefined) return;
  const names = statuses.map((status) => `"${status}"`).join(", ");
  throw new InvalidOptionError(
    "filter.status",
    `must be a status that ${operation} changes: ${names}`,
    other,
  );
};

const chooseByFilter = async (
  engine: Engine,
  { options, ctx }: OperationCall<unknown>,
  { operation, statuses, idOf = ({ id }) => id }: ChoiceRules,
): Promise<ChosenJobs> => {
  const filter = parseJobFilterFor(
    engine.store,
    operation,
    requirePlainObject(options["filter"], "filter"),
    "filter.",
  );
  requireStatuses(filter, operation, statuses);
  const limit = optionalInteger(options["limit"], "limit", 10_000, { min: 1, max: 100_000 });
  const ids = new Set<string>();
  let found = 0;
  let after = decodeCursor(operation, options["cursor"] ?? undefined);
  do {
    const page: JobPage = await engine.store.listJobs({
      ctx,
      filter: { statuses, ...filter },
      order: "oldest",
      limit: Math.min(batchSize, limit - found),
      after,
    });
    const jobs = page.jobs.filter(listedBy(filter));
    for (const job of jobs) ids.add(idOf(job));
    found += jobs.length;
    after = page.next;
  } while (after && found < limit);
  return { ids: [...ids], cursor: after && encodeCursor(operation, after) };
};

const parseDryRun = (engine: Engine, { options, ctx }: OperationCall<unknown>): boolean => {
  const isDryRun = options["dryRun"] !== undefined && requireBoolean(options["dryRun"], "dryRun");
  if (isDryRun && ctx && !engine.store.capabilities.savepoints) {
    throw new InvalidOptionError(
      "dryRun",
      "cannot be used inside a transaction on this store: it has no savepoints, so nothing could be undone alone",
    );
  }
  return isDryRun;
};

/** Thrown to undo a dry run. */
class DryRunFinished extends Error {}

/** Does the work, so that its report is exact, and rolls it back. */
const dryRun = async <T>(
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  work: (ctx: object, afterCommit: AfterCommit) => Promise<T>,
): Promise<T> => {
  let result: { readonly value: T } | undefined;
  try {
    await runAtomically(engine, operation, ctx, async (inner, afterCommit) => {
      result = { value: await work(inner, afterCommit) };
      throw new DryRunFinished();
    });
  } catch (error) {
    if (!(error instanceof DryRunFinished)) throw error;
  }
  return result!.value;
};

/** Changes some of the chosen jobs, and hands notifications and events to `afterCommit`. */
export type ChangeJobs<T> = (
  ctx: object | undefined,
  ids: readonly string[],
  afterCommit: AfterCommit,
) => Promise<readonly T[]>;

interface ChangeSettings {
  /** All ids are one batch. */
  readonly isOneCall?: boolean;
  /** Finds what else to change once a batch has been changed, in batches. */
  readonly findMore?: (ctx: object | undefined, ids: readonly string[]) => AsyncIterable<readonly string[]>;
}

/**
 * Changes the jobs that the options choose, and returns the results of `change`. Outside a transaction, each batch is a
 * transaction of its own.
 */
export const changeChosen = async <T>(
  engine: Engine,
  call: OperationCall<unknown>,
  rules: ChoiceRules,
  change: ChangeJobs<T>,
  { isOneCall = false, findMore }: ChangeSettings = {},
): Promise<{ readonly results: readonly T[]; readonly cursor: string | null }> => {
  const { options, ctx } = call;
  const { operation, idsOption = "ids" } = rules;
  if ((options[idsOption] === undefined) === (options["filter"] === undefined)) {
    throw new InvalidOptionError(idsOption, "or `filter` must be given, and not both", options[idsOption]);
  }
  const isDryRun = parseDryRun(engine, call);
  const { ids, cursor } =
    options["filter"] === undefined
      ? chooseByIds(options, idsOption)
      : await chooseByFilter(engine, call, rules);
  if (isDryRun) {
    const results = await dryRun(engine, operation, ctx, async (inner, afterCommit) => {
      const changed = [...(await change(inner, ids, afterCommit))];
      if (findMore)
        for await (const more of findMore(inner, ids))
          changed.push(...(await change(inner, more, afterCommit)));
      return changed;
    });
    return { results, cursor };
  }
  const results: T[] = [];
  const changeBatch = async (batch: readonly string[]): Promise<void> => {
    const changed = await announceAfter(engine, operation, ctx, (afterCommit) =>
      change(ctx, batch, afterCommit),
    );
    results.push(...changed);
  };
  const step = isOneCall ? Math.max(ids.length, 1) : batchSize;
  for (let from = 0; from < ids.length; from += step) {
    const batch = ids.slice(from, from + step);
    await changeBatch(batch);
    if (findMore) for await (const more of findMore(ctx, batch)) await changeBatch(more);
  }
  return { results, cursor };
};
