import type {
  JobCount,
  JobFilter,
  JobPage,
  ListBlockedJobsCall,
  ListJobsCall,
  PagePosition,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { inSession } from "../database/collections.ts";
import type { Store, StoreCall } from "../database/database.ts";
import { fromDocument, type JobDocument } from "../database/job-document.ts";

const within = (from: number | undefined, before: number | undefined): Document | undefined =>
  from === undefined && before === undefined
    ? undefined
    : {
        ...(from === undefined ? {} : { $gte: new Date(from) }),
        ...(before === undefined ? {} : { $lt: new Date(before) }),
      };

const oneOf = (values: readonly string[] | undefined): Document | undefined =>
  values === undefined ? undefined : { $in: [...values] };

const startingWith = (prefix: string | undefined): Document | undefined =>
  prefix === undefined ? undefined : { $gte: prefix, $lt: `${prefix}\u{10ffff}` };

/** Every value is compared as a value, never read as an operator. */
const toMongoFilter = (filter: JobFilter): Document => {
  const conditions: Record<string, Document | undefined> = {
    _id: oneOf(filter.ids) ?? startingWith(filter.idPrefix),
    status: oneOf(filter.statuses),
    queue: oneOf(filter.queues),
    typeName: oneOf(filter.typeNames),
    sequenceTypeName: oneOf(filter.sequenceTypeNames),
    deduplicationKey: oneOf(filter.deduplicationKeys),
    group: oneOf(filter.groups),
    recurringJobId: oneOf(filter.recurringJobIds),
    failureReason: oneOf(filter.failureReasons),
    leasedBy: oneOf(filter.leasedBy),
    sequenceId: filter.sequenceId === undefined ? undefined : { $eq: filter.sequenceId },
    rootSequenceId: filter.rootSequenceId === undefined ? undefined : { $eq: filter.rootSequenceId },
    sequenceIndex: filter.firstOf === "sequence" ? { $eq: 0 } : undefined,
    isRoot: filter.firstOf === "tree" ? { $eq: true } : undefined,
    createdAt: within(filter.createdFrom, filter.createdBefore),
    scheduledAt: within(filter.scheduledFrom, filter.scheduledBefore),
    finishedAt: within(filter.finishedFrom, filter.finishedBefore),
  };
  const given = Object.fromEntries(
    Object.entries(conditions).filter(([, condition]) => condition !== undefined),
  );
  if (filter.inputContains === undefined) return given;
  return {
    ...given,
    $expr: { $gte: [{ $indexOfBytes: ["$input", { $literal: filter.inputContains }] }, 0] },
  };
};

const behind = (after: PagePosition | null, direction: 1 | -1): Document => {
  if (after === null) return {};
  const further = direction === 1 ? "$gt" : "$lt";
  const createdAt = new Date(after.createdAt);
  return { $or: [{ createdAt: { [further]: createdAt } }, { createdAt, _id: { [further]: after.id } }] };
};

/** How many jobs one call may look at. */
const mostLookedAt = 10_000;

type Page = StoreCall & Pick<ListJobsCall, "limit" | "after"> & { readonly direction: 1 | -1 };

const placeOf = ({ _id, createdAt }: Pick<JobDocument, "_id" | "createdAt">): PagePosition => ({
  id: _id,
  createdAt: createdAt.getTime(),
});

/** Along an index that has the order: `indexed` is what it finds by, `rest` what the jobs have to meet beside that. */
const readPage = async (
  { collections: { jobs } }: Store,
  { session, limit, after, direction }: Page,
  indexed: Document,
  rest: Document,
): Promise<JobPage> => {
  const options = inSession(session);
  const sort = { createdAt: direction, _id: direction } as const;
  const behindLast = { $and: [indexed, behind(after, direction)] };
  const found = await jobs
    .aggregate<JobDocument>(
      [
        { $match: behindLast },
        { $sort: sort },
        { $limit: mostLookedAt },
        { $match: rest },
        { $limit: limit + 1 },
      ],
      options,
    )
    .toArray();
  const page = found.slice(0, limit).map((document) => fromDocument(document).row);
  if (found.length > limit) return { jobs: page, next: placeOf(found[limit - 1]!) };
  // A page that is not full may be all there is, or all that could be looked at.
  const [last] = await jobs
    .find(behindLast, {
      ...options,
      sort,
      skip: mostLookedAt - 1,
      limit: 1,
      projection: { createdAt: 1 },
    })
    .toArray();
  return { jobs: page, next: last === undefined ? null : placeOf(last) };
};

/** Filters that leave few jobs. The server finds the index for them. */
const narrow: readonly (keyof JobFilter)[] = [
  "ids",
  "idPrefix",
  "sequenceId",
  "rootSequenceId",
  "deduplicationKeys",
  "recurringJobIds",
];

export const listJobs = (store: Store, call: StoreCall & ListJobsCall): Promise<JobPage> => {
  const page = { ...call, direction: call.order === "oldest" ? (1 as const) : (-1 as const) };
  const { statuses, createdFrom, createdBefore, ...others } = call.filter;
  if (narrow.some((name) => call.filter[name] !== undefined))
    return readPage(store, page, toMongoFilter(call.filter), {});
  return readPage(
    store,
    page,
    toMongoFilter({ statuses, createdFrom, createdBefore }),
    toMongoFilter(others),
  );
};

export const listBlockedJobs = (store: Store, call: StoreCall & ListBlockedJobsCall): Promise<JobPage> => {
  const filter = { blockerIds: { $eq: call.sequenceId }, blockerCount: { $gt: 0 } };
  return readPage(store, { ...call, direction: 1 }, filter, {});
};

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
