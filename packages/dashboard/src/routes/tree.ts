import type { AnyJob } from "leasehold";
import { tree, type TreeNode } from "../answers/jobs.ts";
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

/** Larger trees cannot be read as a drawing. */
const mostNodes = 500;

const toNode = (job: AnyJob): TreeNode => ({
  id: job.id,
  typeName: job.typeName,
  queue: job.queue,
  status: job.status,
  createdAt: job.createdAt.toISOString(),
  startedAt: job.lastAttemptAt?.toISOString() ?? null,
  endedAt:
    (job.status === "completed"
      ? job.completedAt
      : job.status === "failed"
        ? job.failure.at
        : null
    )?.toISOString() ?? null,
});

/** An edge goes from the earlier job to the one that it started, continued with or blocks. */
const findEdges = async ({ stateAdapter }: Services, jobs: readonly AnyJob[]): Promise<TreeEdge[]> => {
  const known = new Map(jobs.map((job) => [job.id, job]));
  const lastOf = new Map<string, string>();
  // Oldest first, so that the last one of each sequence stays.
  for (const { sequenceId, id } of jobs) lastOf.set(sequenceId, id);
  const continuations = jobs.flatMap((job): TreeEdge[] =>
    job.status === "completed" && job.continuedToId !== null && known.has(job.continuedToId)
      ? [{ from: job.id, to: job.continuedToId, kind: "continues" }]
      : [],
  );
  const continued = new Set(continuations.map(({ to }) => to));
  const blockers = await stateAdapter.getBlockers({ jobIds: jobs.map(({ id }) => id) });
  const waits = jobs.flatMap(({ id }, index) =>
    (blockers[index] ?? []).flatMap(({ current }): TreeEdge[] => {
      const from = lastOf.get(current.sequenceId) ?? current.id;
      return known.has(from) ? [{ from, to: id, kind: "blocks" }] : [];
    }),
  );
  // Blockers have the job that waits for them as their origin, but they come before it.
  const waitsFor = new Set(waits.map(({ from, to }) => `${to} ${from}`));
  const origins = jobs.flatMap((job): TreeEdge[] =>
    job.originId !== null &&
    known.has(job.originId) &&
    !continued.has(job.id) &&
    !waitsFor.has(`${job.originId} ${job.id}`)
      ? [{ from: job.originId, to: job.id, kind: "started" }]
      : [],
  );
  return [...continuations, ...origins, ...waits];
};

export const treeRoutes: readonly Route[] = [
  get({
    path: "trees/:id",
    needs: "read",
    summary: "All jobs below a root, how they hang together, and what kept the last one waiting.",
    isExpensive: true,
    answer: tree,
    handle: async (services, { params }) => {
      const { jobs, cursor } = await services.leasehold.jobs.list({
        rootSequenceId: params["id"]!,
        order: "oldest",
        limit: mostNodes,
      });
      if (jobs.length === 0) throw notFound("tree with this root");
      const nodes = jobs.map(toNode);
      const edges = await findEdges(services, jobs);
      return { nodes, edges, criticalPath: findCriticalPath(nodes, edges), isComplete: cursor === null };
    },
  }),
];
