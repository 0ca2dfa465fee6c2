import { InvalidOptionError } from "../base/errors.ts";
import { optionalInteger, requireArray, requireId, requirePlainObject } from "../base/options.ts";
import type { Engine } from "../engine/engine.ts";
import { runAtomically } from "../engine/operation.ts";
import { decodeCursor, encodeCursor } from "../engine/pages.ts";
import type { JobStatus } from "../store/contract/job.ts";
import type { JobPage } from "../store/contract/reads.ts";
import { listedBy, parseJobFilterFor } from "./filter.ts";

// Operations on jobs that are chosen by id or by filter, in batches, and on trial if asked for.

export const choiceOptions = { ids: true, filter: true, dryRun: true, limit: true, cursor: true } as const;

export interface Choice {
  readonly jobIds: readonly string[];
  /** Where the next call goes on; null when the filter has no more. */
  readonly cursor: string | null;
}

export interface ChoiceRules {
  /** Which jobs a filter can find. */
  readonly statuses: readonly JobStatus[];
  /** The operation, so that its cursors are not taken for those of others. */
  readonly cursorKind: string;
}

const choiceBatchSize = 500;

/** Whether it is a trial. Checks it against the store, and that there are ids or a filter. */
export const parseDryRun = (
  engine: Engine,
  ctx: object | undefined,
  options: Record<string, unknown>,
): boolean => {
  if ((options["ids"] === undefined) === (options["filter"] === undefined)) {
    throw new InvalidOptionError("ids", "or `filter` must be given, and not both", options["ids"]);
  }
  const { dryRun = false } = options;
  if (typeof dryRun !== "boolean") throw new InvalidOptionError("dryRun", "must be true or false", dryRun);
  if (dryRun && ctx && !engine.store.capabilities.savepoints) {
    throw new InvalidOptionError(
      "dryRun",
      "cannot be used inside a transaction on this store: it has no savepoints, so nothing could be undone alone",
    );
  }
  return dryRun;
};

export const chooseJobs = async (
  engine: Engine,
  ctx: object | undefined,
  options: Record<string, unknown>,
  { statuses, cursorKind }: ChoiceRules,
): Promise<Choice> => {
  if (options["ids"] !== undefined) {
    for (const option of ["limit", "cursor"])
      if (options[option] !== undefined)
        throw new InvalidOptionError(option, "goes with `filter`", options[option]);
    const ids = requireArray(options["ids"], "ids", { maxLength: 100_000 });
    return {
      jobIds: [...new Set(ids.map((id, index) => requireId(id, `ids[${index}]`)))],
      cursor: null,
    };
  }
  const filter = parseJobFilterFor(
    engine.store,
    cursorKind,
    requirePlainObject(options["filter"], "filter"),
    "filter.",
  );
  const limit = optionalInteger(options["limit"], "limit", 10_000, { min: 1, max: 100_000 });
  const ids: string[] = [];
  let after = decodeCursor(cursorKind, options["cursor"] ?? undefined);
  do {
    const page: JobPage = await engine.store.listJobs({
      ctx,
      filter: { ...filter, statuses },
      order: "oldest",
      limit: Math.min(choiceBatchSize, limit - ids.length),
      after,
    });
    for (const { id } of page.jobs.filter(listedBy(filter))) ids.push(id);
    after = page.next;
  } while (after && ids.length < limit);
  return { jobIds: ids, cursor: after && encodeCursor(cursorKind, after) };
};

/** Thrown to undo a dry run. */
class DryRunFinished extends Error {}

/** Really does the work, so that its report is true, and then takes it back. */
export const tryOut = async <T>(
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  work: (ctx: object) => Promise<T>,
): Promise<T> => {
  let result: { readonly value: T } | undefined;
  try {
    await runAtomically(engine, operation, ctx, async (inner) => {
      result = { value: await work(inner) };
      throw new DryRunFinished();
    });
  } catch (error) {
    if (!(error instanceof DryRunFinished)) throw error;
  }
  return result!.value;
};

export const inBatches = (jobIds: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(jobIds.length / choiceBatchSize) }, (_, index) =>
    jobIds.slice(index * choiceBatchSize, (index + 1) * choiceBatchSize),
  );
