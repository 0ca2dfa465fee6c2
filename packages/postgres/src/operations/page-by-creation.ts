import type { ListJobsCall } from "leasehold/adapter";
import type { Database } from "../database.ts";
import { filterConditions } from "../job-filter.ts";

interface PageByCreation extends ReturnType<typeof filterConditions> {
  /** What to sort by. */
  readonly order: string;
}

/**
 * What a page of jobs `j` in the order of `created_at` is made of. The last parameter is its limit. Undefined if it is to come
 * after a job that cannot exist.
 */
export const pageByCreation = (
  { tables, isId }: Database,
  { filter, order, after, limit }: ListJobsCall,
): PageByCreation | undefined => {
  const { conditions, params } = filterConditions(tables, isId, filter);
  const [direction, comparison] = order === "oldest" ? ["ASC", ">"] : ["DESC", "<"];
  if (after !== null) {
    if (!isId(after.id)) return undefined;
    params.push(after.createdAt, after.id);
    conditions.push(
      `(j.created_at, j.id) ${comparison} ($${params.length - 1}::bigint, $${params.length}::${tables.idType})`,
    );
  }
  params.push(limit + 1);
  return { conditions, params, order: `j.created_at ${direction}, j.id ${direction}` };
};
