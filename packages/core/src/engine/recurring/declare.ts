import { requirePart } from "../../contracts/optional-parts.ts";
import type { RecurringJobs } from "../../contracts/state-adapter.ts";
import { InvalidOptionError } from "../../errors.ts";
import {
  requireArray,
  requireBoolean,
  requireName,
  requireNestedOptions,
} from "../../model/option-checks.ts";
import type { Engine } from "../engine.ts";
import { parseRecurringJob, putOptionNames, type RecurringRequest, storeRecurringJob } from "./put.ts";

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
  const flow = requirePart(engine.store, "flow", "The option `recurringJobs` of createLeasehold");
  const owner = options.owner === undefined ? "default" : requireName(options.owner, "recurringJobs.owner");
  const removeOthers =
    options.removeOthers !== undefined && requireBoolean(options.removeOthers, "recurringJobs.removeOthers");
  const requests = await parseDeclarations(engine, options.jobs);
  for (const request of requests)
    await storeRecurringJob(engine, "createLeasehold", undefined, request, owner);
  if (removeOthers) await deleteOthers(flow, owner, new Set(requests.map(({ id }) => id)));
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
  flow: RecurringJobs<object>,
  owner: string,
  declared: ReadonlySet<string>,
): Promise<void> => {
  let after: string | null = null;
  for (;;) {
    const rows: { readonly id: string }[] = await flow.listRecurring({ owner, limit: pageSize, after });
    const ids = rows.map(({ id }) => id).filter((id) => !declared.has(id));
    if (ids.length > 0) await flow.deleteRecurring({ ids });
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
};
