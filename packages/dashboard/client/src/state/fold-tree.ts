import type { Status, Tree, TreeNode } from "../../../src/answers/jobs.ts";

/** A job, or several that look alike. */
export interface DrawnNode {
  readonly id: string;
  readonly typeName: string;
  readonly status: Status;
  /** Those of them that are known one by one. */
  readonly jobs: readonly TreeNode[];
  readonly count: number;
  readonly isCritical: boolean;
}

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: string;
  readonly isCritical: boolean;
}

const mostDrawn = 200;

/**
 * What is drawn of a tree. In a large tree, jobs of the same type, state and origin become one node; the critical path is never
 * folded.
 */
export const foldTree = ({
  nodes,
  edges,
  criticalPath,
  others,
}: Tree): { nodes: DrawnNode[]; edges: DrawnEdge[] } => {
  const critical = new Set(criticalPath);
  const parents = new Map<string, string[]>();
  for (const { from, to } of edges) parents.set(to, [...(parents.get(to) ?? []), from]);
  const isFolded = nodes.length > mostDrawn || others.length > 0;
  const drawnAs = new Map<string, string>();
  const groups = new Map<string, TreeNode[]>();
  // Oldest first, so that the origin of a job is drawn before it.
  for (const node of nodes) {
    const from = (parents.get(node.id) ?? []).map((id) => drawnAs.get(id) ?? id).sort();
    const key =
      isFolded && !critical.has(node.id) ? JSON.stringify([node.typeName, node.status, ...from]) : node.id;
    drawnAs.set(node.id, key);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [node]);
    else group.push(node);
  }
  const onPath = new Set(
    criticalPath.slice(1).map((id, index) => `${drawnAs.get(criticalPath[index]!)} ${drawnAs.get(id)}`),
  );
  const drawn = new Map<string, DrawnEdge>();
  for (const edge of edges) {
    const [from, to] = [drawnAs.get(edge.from), drawnAs.get(edge.to)];
    if (from === undefined || to === undefined || from === to) continue;
    const key = `${from} ${to}`;
    if (!drawn.has(key)) drawn.set(key, { from, to, kind: edge.kind, isCritical: onPath.has(key) });
  }
  const folded: DrawnNode[] = [...groups].map(([id, jobs]) => ({
    id,
    typeName: jobs[0]!.typeName,
    status: jobs[0]!.status,
    jobs,
    count: jobs.length,
    isCritical: critical.has(jobs[0]!.id),
  }));
  return addOthers({ nodes: folded, edges: [...drawn.values()] }, others);
};

/** Counted jobs join the largest node of their type and status, or hang where others of their type do. */
const addOthers = (
  { nodes, edges }: { readonly nodes: readonly DrawnNode[]; readonly edges: readonly DrawnEdge[] },
  others: Tree["others"],
): { nodes: DrawnNode[]; edges: DrawnEdge[] } => {
  const all = new Map(nodes.map((node) => [node.id, node]));
  const allEdges = [...edges];
  const largest = (isLike: (node: DrawnNode) => boolean): DrawnNode | undefined =>
    nodes.filter((node) => isLike(node) && !node.isCritical).sort((a, b) => b.count - a.count)[0] ??
    nodes.find(isLike);
  for (const { typeName, status, count } of others) {
    const same = largest((node) => node.typeName === typeName && node.status === status && !node.isCritical);
    if (same !== undefined) {
      all.set(same.id, { ...same, count: all.get(same.id)!.count + count });
      continue;
    }
    const id = JSON.stringify([typeName, status]);
    all.set(id, { id, typeName, status, jobs: [], count, isCritical: false });
    const like = largest((node) => node.typeName === typeName);
    const into = edges.filter(({ to }) => to === like?.id);
    const outOf = edges.filter(({ from, kind }) => from === like?.id && kind === "blocks");
    allEdges.push(...into.map((edge) => ({ ...edge, to: id, isCritical: false })));
    allEdges.push(...outOf.map((edge) => ({ ...edge, from: id, isCritical: false })));
  }
  return { nodes: [...all.values()], edges: allEdges };
};
