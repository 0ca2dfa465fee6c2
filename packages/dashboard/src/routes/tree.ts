import type { AnyJob } from "leasehold";
import { actionQueue } from "leasehold/adapter";
import { tree, type TreeNode, type TreeOthers } from "../answers/jobs.ts";
import { notFound } from "../http/errors.ts";
import { get, type Route, type Services } from "./route.ts";

export interface TreeEdge {
  readonly from: string;
  readonly to: string;
  /** `started`: the first job started the second. `continues`: it continued with it. `blocks`: the second waits for it. */
  readonly kind: "started" | "continues" | "blocks";
}

/** When a job ended; an unfinished job comes after all others. */
const endOf = ({ endedAt }: TreeNode): number => (endedAt === null ? Infinity : Date.parse(endedAt));

/**
 * The chain of jobs that determined when the last one ended: from it back to what each had waited for last. A started job does not
 * wait for the end of its starter, so only the start counts.
 */
const findCriticalPath = (nodes: readonly TreeNode[], edges: readonly TreeEdge[]): string[] => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const into = new Map<string, TreeEdge[]>();
  for (const edge of edges) into.set(edge.to, [...(into.get(edge.to) ?? []), edge]);
  const readyBy = ({ from, to, kind }: TreeEdge): number =>
    kind === "started" ? Date.parse(byId.get(to)!.createdAt) : endOf(byId.get(from)!);
  const last = nodes.reduce<TreeNode | undefined>(
    (latest, node) => (latest === undefined || endOf(node) > endOf(latest) ? node : latest),
    undefined,
  );
  const path: string[] = [];
  for (let id = last?.id; id !== undefined && !path.includes(id);) {
    path.unshift(id);
    const waited = (into.get(id) ?? []).reduce<TreeEdge | undefined>(
      (latest, edge) => (latest === undefined || readyBy(edge) > readyBy(latest) ? edge : latest),
      undefined,
    );
    id = waited?.from;
  }
  return path;
};

/** Of a larger tree, the oldest jobs and the critical path are drawn one by one; the store counts the rest. */
const mostNodes = 500;

const endedAt = (job: AnyJob): Date | null => {
  if (job.status === "completed") return job.completedAt;
  return job.status === "failed" ? job.failure.at : null;
};

const toNode = (job: AnyJob): TreeNode => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  status: job.status,
  createdAt: job.createdAt.toISOString(),
  startedAt: job.lastAttemptAt?.toISOString() ?? null,
  endedAt: endedAt(job)?.toISOString() ?? null,
});

/** An edge goes from the earlier job to the one that it started, continued with or blocks. */
const findEdges = async ({ stateAdapter }: Services, jobs: readonly AnyJob[]): Promise<TreeEdge[]> => {
  const known = new Map(jobs.map((job) => [job.id, job]));
  // Oldest first, so that the last one of each sequence stays.
  const lastOf = new Map(jobs.map(({ sequenceId, id }) => [sequenceId, id]));
  const continuations = jobs.flatMap((job): TreeEdge[] =>
    job.status === "completed" && job.continuedToId !== null && known.has(job.continuedToId)
      ? [{ from: job.id, to: job.continuedToId, kind: "continues" }]
      : [],
  );
  const continued = new Set(continuations.map(({ to }) => to));
  const blockers = await stateAdapter.getBlockers({ jobIds: jobs.map(({ id }) => id) });
  const waitsFor = new Set<string>();
  const waits = jobs.flatMap(({ id }, index) =>
    (blockers[index] ?? []).flatMap(({ current }): TreeEdge[] => {
      waitsFor.add(`${id} ${current.sequenceId}`);
      const from = known.has(current.id) ? current.id : lastOf.get(current.sequenceId);
      return from === undefined ? [] : [{ from, to: id, kind: "blocks" }];
    }),
  );
  // All jobs of a blocker come before the job that waits for it, also the first, whose origin that job is.
  const origins = jobs.flatMap((job): TreeEdge[] =>
    job.originId !== null &&
    known.has(job.originId) &&
    !continued.has(job.id) &&
    !waitsFor.has(`${job.originId} ${job.sequenceId}`)
      ? [{ from: job.originId, to: job.id, kind: "started" }]
      : [],
  );
  return [...continuations, ...origins, ...waits];
};

const unfinished = ["running", "pending", "blocked"] as const;

/** The job that ended last, or one that has not ended. Each read finds jobs that ended later than all found before. */
const findLast = async ({ leasehold }: Services, rootSequenceId: string): Promise<AnyJob | undefined> => {
  const open = await leasehold.jobs.list({ rootSequenceId, status: unfinished, order: "newest", limit: 1 });
  if (open.jobs[0] !== undefined) return open.jobs[0];
  let last: AnyJob | undefined;
  for (;;) {
    const finishedFrom: Date | undefined = last && new Date(endedAt(last)!.getTime() + 1);
    const { jobs } = await leasehold.jobs.list({
      rootSequenceId,
      order: "newest",
      limit: 200,
      ...(finishedFrom && { finishedFrom }),
    });
    if (jobs.length === 0) return last;
    last = jobs.reduce((a, b) => (endedAt(b)!.getTime() > endedAt(a)!.getTime() ? b : a));
  }
};

const longestPath = 50;

/** The jobs that one may have waited for: its blocker that ended last, the job before it in its sequence, and its origin. */
const findEarlier = async ({ leasehold, stateAdapter }: Services, job: AnyJob): Promise<AnyJob[]> => {
  const [blockers] = await stateAdapter.getBlockers({ jobIds: [job.id] });
  const endOfBlocker = ({ current }: NonNullable<typeof blockers>[number]): number =>
    current.completedAt ?? current.failedAt ?? Infinity;
  const last = (blockers ?? []).reduce<NonNullable<typeof blockers>[number] | undefined>(
    (a, b) => (a === undefined || endOfBlocker(b) > endOfBlocker(a) ? b : a),
    undefined,
  );
  const sequence =
    job.id === job.sequenceId
      ? []
      : (await leasehold.jobs.listInSequence({ id: job.sequenceId, limit: 1_000 })).jobs;
  const previous = sequence.find((other) => other.status === "completed" && other.continuedToId === job.id);
  const ids = [last?.current.id, previous?.id, job.originId].filter((id) => id != null);
  const found = ids.length === 0 ? [] : (await leasehold.jobs.list({ id: ids, limit: ids.length })).jobs;
  return [...found];
};

/** Adds the jobs that led to the last one, as far as the first jobs of the tree lack them. */
const addCritical = async (services: Services, root: string, first: readonly AnyJob[]): Promise<AnyJob[]> => {
  const jobs = new Map(first.map((job) => [job.id, job]));
  const last = await findLast(services, root);
  let open = last === undefined || jobs.has(last.id) ? [] : [last];
  for (let steps = 0; open.length > 0 && steps < longestPath; steps += 1) {
    for (const job of open) jobs.set(job.id, job);
    const found = await Promise.all(open.map((job) => findEarlier(services, job)));
    open = found.flat().filter(({ id, rootSequenceId }) => !jobs.has(id) && rootSequenceId === root);
  }
  return [...jobs.values()];
};

/** How many jobs of each type and status there are besides those that are drawn. */
const countOthers = async (
  { leasehold }: Services,
  rootSequenceId: string,
  jobs: readonly AnyJob[],
): Promise<readonly TreeOthers[]> => {
  const others = new Map<string, { typeName: string; status: AnyJob["status"]; count: number }>();
  const add = ({ typeName, status }: Pick<AnyJob, "typeName" | "status">, count: number): void => {
    const key = JSON.stringify([typeName, status]);
    const row = others.get(key) ?? { typeName, status, count: 0 };
    others.set(key, { ...row, count: row.count + count });
  };
  for (const row of await leasehold.jobs.count({ rootSequenceId })) add(row, row.count);
  for (const job of jobs) add(job, -1);
  return [...others.values()].filter(({ count }) => count > 0);
};

export const treeRoutes: readonly Route[] = [
  get({
    path: "trees/:id",
    needs: "read",
    summary: "The jobs below a root, how they hang together, and what kept the last one waiting.",
    isExpensive: true,
    isShared: true,
    answer: tree,
    handle: async (services, { params }) => {
      const root = params["id"]!;
      const page = await services.leasehold.jobs.list({
        rootSequenceId: root,
        order: "oldest",
        limit: mostNodes,
      });
      const found = page.jobs.filter(({ queue }) => queue !== actionQueue);
      if (found.length === 0) throw notFound("tree with this root");
      const isLarge = page.cursor !== null;
      const jobs = isLarge ? await addCritical(services, root, found) : found;
      const [edges, others] = await Promise.all([
        findEdges(services, jobs),
        isLarge ? countOthers(services, root, jobs) : [],
      ]);
      const nodes = jobs.map(toNode);
      return { nodes, edges, criticalPath: findCriticalPath(nodes, edges), others };
    },
  }),
];
