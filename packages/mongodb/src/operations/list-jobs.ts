import type {
  JobCount,
  JobFilter,
  JobPage,
  ListBlockedJobsCall,
  ListJobsCall,
  PagePosition,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { inSession } from "../collections.ts";
import { fromDocument } from "../job-document.ts";
import { toMongoFilter } from "../job-filter.ts";
import type { Store, StoreCall } from "../store.ts";

const behind = (after: PagePosition | null, direction: 1 | -1): Document => {
  if (after === null) return {};
  const further = direction === 1 ? "$gt" : "$lt";
  const createdAt = new Date(after.createdAt);
  return { $or: [{ createdAt: { [further]: createdAt } }, { createdAt, _id: { [further]: after.id } }] };
};

const readPage = async (
  store: Store,
  call: StoreCall & Pick<ListJobsCall, "limit" | "after">,
  filter: Document,
  direction: 1 | -1,
): Promise<JobPage> => {
  const found = await store.collections.jobs
    .find(
      { $and: [filter, behind(call.after, direction)] },
      { ...inSession(call.session), sort: { createdAt: direction, _id: direction }, limit: call.limit + 1 },
    )
    .toArray();
  const jobs = found.slice(0, call.limit).map((document) => fromDocument(document).row);
  const last = jobs.at(-1);
  const next =
    found.length > jobs.length && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs, next };
};

export const listJobs = (store: Store, call: StoreCall & ListJobsCall): Promise<JobPage> =>
  readPage(store, call, toMongoFilter(call.filter), call.order === "oldest" ? 1 : -1);

export const listBlockedJobs = (store: Store, call: StoreCall & ListBlockedJobsCall): Promise<JobPage> =>
  readPage(store, call, { blockerIds: { $eq: call.sequenceId }, blockerCount: { $gt: 0 } }, 1);

export const countJobs = async (
  store: Store,
  call: StoreCall & { readonly filter: JobFilter },
): Promise<JobCount[]> => {
  const counts = await store.collections.jobs
    .aggregate<{ _id: Omit<JobCount, "count">; count: number }>(
      [
        { $match: toMongoFilter(call.filter) },
        {
          $group: { _id: { queue: "$queue", typeName: "$typeName", status: "$status" }, count: { $sum: 1 } },
        },
      ],
      inSession(call.session),
    )
    .toArray();
  return counts.map(({ _id, count }) => ({ ..._id, count }));
};
