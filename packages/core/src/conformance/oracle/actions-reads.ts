import assert from "node:assert/strict";
import type { JobFilter, JobPage } from "../../store/contract/reads.ts";
import type { PagePosition } from "../../store/contract/reads.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { fingerprints } from "./actions-leases.ts";
import { queues, typeNames } from "./actions-start.ts";
import { compareHistory } from "./compare-history.ts";
import { assertSameJobs } from "./compare.ts";
import type { Draw } from "./draw.ts";
import { groups } from "./limit-groups.ts";
import { allJobs, type ModelJob, type ModelStore, sequenceIds } from "./store.ts";
import type { Action, World } from "./world.ts";

export const byCreation = (a: ModelJob, b: ModelJob): number =>
  a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);

/** Reads page by page to the end. */
export const readAll = async (
  read: (after: PagePosition | null) => Promise<JobPage>,
  limit: number,
): Promise<StateJob[]> => {
  const jobs: StateJob[] = [];
  for (let after: PagePosition | null = null; ;) {
    const page: JobPage = await read(after);
    assert.ok(page.jobs.length <= limit, "a page keeps to its limit");
    jobs.push(...page.jobs);
    if (page.next === null) return jobs;
    after = page.next;
  }
};

const isWithin = (moment: number | null, from: number | undefined, before: number | undefined): boolean => {
  if (from === undefined && before === undefined) return true;
  return moment !== null && moment >= (from ?? -Infinity) && moment < (before ?? Infinity);
};

const fits = ({ fingerprints: ofJobs }: ModelStore, job: ModelJob, filter: JobFilter): boolean =>
  (filter.ids?.includes(job.id) ?? true) &&
  (filter.statuses?.includes(job.status) ?? true) &&
  (filter.queues?.includes(job.queue) ?? true) &&
  (filter.typeNames?.includes(job.typeName) ?? true) &&
  (filter.sequenceTypeNames?.includes(job.sequenceTypeName) ?? true) &&
  (filter.deduplicationKeys === undefined ||
    (job.deduplicationKey !== null && filter.deduplicationKeys.includes(job.deduplicationKey))) &&
  (filter.groups === undefined || (job.group !== null && filter.groups.includes(job.group))) &&
  (filter.sequenceId ?? job.sequenceId) === job.sequenceId &&
  (filter.rootSequenceId ?? job.rootSequenceId) === job.rootSequenceId &&
  (filter.firstOf !== "sequence" || job.sequenceIndex === 0) &&
  (filter.firstOf !== "tree" || job.rootSequenceId === job.id) &&
  (filter.failureReasons === undefined ||
    (job.failureReason !== null && filter.failureReasons.includes(job.failureReason))) &&
  (filter.fingerprints?.includes(ofJobs.get(job.id) ?? "none") ?? true) &&
  (filter.idPrefix === undefined || job.id.startsWith(filter.idPrefix)) &&
  (filter.leasedBy?.includes(job.leasedBy ?? "nobody") ?? true) &&
  (filter.inputContains === undefined || job.input.includes(filter.inputContains)) &&
  isWithin(job.createdAt, filter.createdFrom, filter.createdBefore) &&
  isWithin(job.scheduledAt, filter.scheduledFrom, filter.scheduledBefore) &&
  isWithin(job.completedAt ?? job.failedAt, filter.finishedFrom, filter.finishedBefore);

const drawFilter = ({ adapter, model, now }: World, draw: Draw): JobFilter => {
  const parts: readonly JobFilter[] = [
    {},
    { statuses: ["pending", "failed"] },
    { statuses: ["completed"], queues: [queues[0]] },
    { queues: [queues[1], "nobody's queue"] },
    { typeNames: [typeNames[0]] },
    { sequenceTypeNames: [typeNames[1]] },
    { deduplicationKeys: ["key-1"] },
    { deduplicationKeys: ["key-1", "key-2"], sequenceTypeNames: [...typeNames] },
    { inputContains: "1" },
    { failureReasons: ["blocker_failed", "cancelled"] },
    { ids: draw.some([...model.jobs.keys()], 3) },
    { sequenceId: draw.pick([...sequenceIds(model), "00000000-0000-4000-8000-000000000000"]) },
    { rootSequenceId: draw.pick([...sequenceIds(model), "00000000-0000-4000-8000-000000000000"]) },
    { firstOf: "sequence" },
    { firstOf: "tree" },
    { createdFrom: now - 3_000, createdBefore: now },
    { scheduledFrom: now + 1 },
    { statuses: ["blocked", "failed"], scheduledBefore: now + 1 },
    { statuses: ["pending"], scheduledBefore: now + 1 },
    { finishedFrom: now - 3_000 },
    { finishedBefore: now },
    { leasedBy: ["worker-1"] },
    ...(adapter.limits === undefined
      ? []
      : [{ groups: [groups[0]] }, { groups, statuses: ["pending"] as const }]),
    ...(adapter.history === undefined ? [] : [{ fingerprints: [fingerprints[0]] }, { fingerprints }]),
  ];
  return { ...draw.pick(parts), ...draw.pick(parts) };
};

export const list: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const filter = drawFilter(world, draw);
  const order = draw.pick(["oldest", "newest"] as const);
  const limit = draw.pick([100, 2, 1]);
  world.note("listJobs", { filter, order, limit });
  const actual = await readAll((after) => adapter.listJobs({ filter, order, limit, after, now, ctx }), limit);
  const expected = allJobs(model)
    .filter((job) => fits(model, job, filter))
    .sort(byCreation);
  assertSameJobs(actual, order === "oldest" ? expected : expected.reverse());
};

export const lookBack: Action = async (world, _draw, ctx) => {
  world.note("listAttempts and listCauses");
  await compareHistory(world, ctx);
};
