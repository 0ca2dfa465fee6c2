import type { Tree, TreeNode } from "../answers.ts";
import type { AnyJob } from "leasehold";
import { findCriticalPath, type TreeEdge } from "../tree/critical-path.ts";
import { notFound } from "../server/http-error.ts";
import { type Route, get } from "../server/route.ts";
import type { Services } from "../server/services.ts";
import { boolean, date, listOfSchema, nullable, objectSchema, status, text } from "./answers.ts";

/** More than a person can look at. */
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

/** An edge goes from what came first to what came of it, or waits for it. */
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
  // Blockers are started in the name of the job that waits for them. They come before it all the same.
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
    answer: objectSchema<Tree>({
      nodes: listOfSchema(
        objectSchema({
          id: text,
          typeName: text,
          queue: text,
          status,
          createdAt: date,
          startedAt: nullable(date),
          endedAt: nullable(date),
        }),
      ),
      edges: listOfSchema(objectSchema({ from: text, to: text, kind: text })),
      criticalPath: listOfSchema(text),
      isComplete: boolean,
    }),
    handle: async (services, { params }) => {
      const { jobs, cursor } = await services.leasehold.listJobs({
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
