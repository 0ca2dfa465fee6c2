import type { Tree, TreeNode } from "../answers.ts";

/** A job, or several that look alike. */
export interface DrawnNode {
  readonly id: string;
  readonly jobs: readonly TreeNode[];
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
 * What is drawn of a tree. Where there are more jobs than a person can look at, those of one type and state that came of the
 * same jobs become one; the critical path is never folded.
 */
export const foldTree = ({
  nodes,
  edges,
  criticalPath,
}: Tree): { nodes: DrawnNode[]; edges: DrawnEdge[] } => {
  const critical = new Set(criticalPath);
  const parents = new Map<string, string[]>();
  for (const { from, to } of edges) parents.set(to, [...(parents.get(to) ?? []), from]);
  const isFolded = nodes.length > mostDrawn;
  const drawnAs = new Map<string, string>();
  const groups = new Map<string, TreeNode[]>();
  // Oldest first, so what a job came of has been drawn before it.
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
  return {
    nodes: [...groups].map(([id, jobs]) => ({ id, jobs, isCritical: critical.has(jobs[0]!.id) })),
    edges: [...drawn.values()],
  };
};
