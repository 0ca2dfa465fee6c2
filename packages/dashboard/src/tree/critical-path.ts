import type { TreeNode } from "../answers.ts";

export interface TreeEdge {
  readonly from: string;
  readonly to: string;
  /** `started`: the first one started the second. `continues`: it handed on to it. `blocks`: the second waits for it. */
  readonly kind: "started" | "continues" | "blocks";
}

/** When a job was over, as far as others wait for it: one that is not finished yet comes after all that are. */
const endOf = ({ endedAt }: TreeNode): number => (endedAt === null ? Infinity : Date.parse(endedAt));

/**
 * The chain of jobs that decided when the last one ended: from it back to what each had waited for last. A job that was started
 * by another need not wait for its end, so of a start only the beginning counts.
 */
export const findCriticalPath = (nodes: readonly TreeNode[], edges: readonly TreeEdge[]): string[] => {
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
