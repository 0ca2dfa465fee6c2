import { Graph, layout } from "@dagrejs/dagre";
import { useMemo, useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { ActionKind, Status, Tree, TreeNode } from "../../../src/answers/jobs.ts";
import { PlanPanel } from "../parts/action-panel.tsx";
import { Card, Empty, Problem, Skeleton } from "../parts/card.tsx";
import { Icon } from "../parts/icon.tsx";
import { StateMark } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { Top } from "../parts/shell.tsx";
import { kinds } from "../state/action.ts";
import { addressOf, usePolled } from "../state/api.ts";
import { type DrawnEdge, type DrawnNode, foldTree } from "../state/fold-tree.ts";
import { formatCount, formatDuration, plural } from "../state/format.ts";
import { jobPath, jobsPath, navigate } from "../state/router.ts";
import { may } from "../state/session.ts";
import { now } from "../state/settings.ts";

const nodeHeight = 50;

const widthOf = (name: string): number => Math.max(180, Math.min(280, name.length * 7.6 + 58));

const nameOf = ({ typeName, count }: DrawnNode): string =>
  count === 1 ? typeName : `${formatCount(count)} × ${typeName}`;

interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly {
    readonly node: DrawnNode;
    readonly x: number;
    readonly y: number;
    readonly width: number;
  }[];
  readonly edges: readonly { readonly edge: DrawnEdge; readonly path: string }[];
}

const place = (tree: Tree): Placed => {
  const drawn = foldTree(tree);
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 48, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of drawn.nodes)
    graph.setNode(node.id, { width: widthOf(nameOf(node)), height: nodeHeight });
  for (const { from, to } of drawn.edges) graph.setEdge(from, to);
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: drawn.nodes.map((node) => {
      const { x, y, width } = graph.node(node.id) as { x: number; y: number; width: number };
      return { node, x: x - width / 2, y: y - nodeHeight / 2, width };
    }),
    edges: drawn.edges.map((edge) => {
      const { points } = graph.edge(edge.from, edge.to) as { points: readonly { x: number; y: number }[] };
      return {
        edge,
        path: points
          .map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`)
          .join(""),
      };
    }),
  };
};

const lasted = (job: TreeNode): string => {
  if (job.startedAt === null) return job.status === "blocked" ? "waits for others" : "not begun";
  const end =
    job.endedAt === null ? (job.status === "running" ? now.value : undefined) : Date.parse(job.endedAt);
  return end === undefined ? "to be tried again" : formatDuration(end - Date.parse(job.startedAt));
};

const icons: Readonly<Record<Status, Parameters<typeof Icon>[0]["name"]>> = {
  blocked: "blocked",
  pending: "pending",
  running: "running",
  completed: "completed",
  failed: "failed",
};

const Node = ({
  placed: { node, x, y, width },
  root,
}: {
  readonly placed: Placed["nodes"][number];
  readonly root: string;
}) => {
  const { typeName, status } = node;
  const job = node.count === 1 ? node.jobs[0] : undefined;
  const sub = job === undefined ? status : `${status} · ${lasted(job)}`;
  const target = job === undefined ? jobsPath({ rootSequenceId: root, typeName, status }) : jobPath(job.id);
  return (
    <a
      href={addressOf(target)}
      class={`node ${status} ${node.isCritical ? "critical" : ""}`}
      onClick={(event: MouseEvent) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(target);
      }}
    >
      <g transform={`translate(${x} ${y})`}>
        <rect width={width} height={nodeHeight} rx="8" />
        <svg x="12" y="17" width="16" height="16" viewBox="0 0 16 16">
          <Icon name={icons[status]} />
        </svg>
        <text x="38" y="21">
          {nameOf(node)}{" "}
        </text>
        <text class="sub" x="38" y="38">
          {sub}
        </text>
      </g>
    </a>
  );
};

/** The chain that determined when the tree ended, and how long each job of it took. */
const CriticalPath = ({ tree }: { readonly tree: Tree }) => {
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  const path = tree.criticalPath.flatMap((id) => byId.get(id) ?? []);
  return (
    <Card title="Critical path" note="what each job waited for last">
      <ol class="steps">
        {path.map((job) => (
          <li key={job.id}>
            <StateMark status={job.status} />
            <Link class="strong" to={jobPath(job.id)}>
              {job.typeName}
            </Link>
            <span class="small dim">{lasted(job)}</span>
          </li>
        ))}
      </ol>
    </Card>
  );
};

/** From the first job to the last, or until now. */
const describeSpan = ({ nodes, others }: Tree): string => {
  const from = Math.min(...nodes.map(({ createdAt }) => Date.parse(createdAt)));
  const to = Math.max(...nodes.map(({ endedAt }) => (endedAt === null ? now.value : Date.parse(endedAt))));
  const isOver = ({ status }: { readonly status: Status }): boolean =>
    status === "completed" || status === "failed";
  const hasEnded = nodes.every(isOver) && others.every(isOver);
  return hasEnded ? `took ${formatDuration(to - from)}` : `${formatDuration(to - from)} so far`;
};

const countJobs = ({ nodes, others }: Tree): number =>
  nodes.length + others.reduce((sum, { count }) => sum + count, 0);

const treeActions = ["cancel", "redrive"] as const;

/** What can be done to all jobs of the tree. */
const TreeActions = ({ tree, onPlan }: { readonly tree: Tree; onPlan(kind: ActionKind): void }) => {
  const offered = treeActions.filter(
    (kind) =>
      may(kinds[kind].needs) &&
      [...tree.nodes, ...tree.others].some(({ status }) => kinds[kind].of.includes(status)),
  );
  return (
    <>
      {offered.map((kind, index) => (
        <button
          key={kind}
          type="button"
          class={`button small ${kinds[kind].isDangerous ? "danger" : ""}`}
          {...(index === 0 && { "data-plan": "" })}
          onClick={() => onPlan(kind)}
        >
          {kinds[kind].name}…
        </button>
      ))}
    </>
  );
};

export const TreePage = ({ id }: { readonly id: string }) => {
  const { data: tree, error, reload } = usePolled<Tree>(`trees/${toSegment(id)}`);
  const [kind, setKind] = useState<ActionKind>();
  // The layout depends on the jobs, not on their states.
  const shape = JSON.stringify(tree);
  const placed = useMemo(() => (tree === undefined ? undefined : place(tree)), [shape]);
  const [root] = tree?.nodes ?? [];
  return (
    <>
      <Top title={root === undefined ? "Tree" : `Tree of ${root.typeName}`} />
      {error !== undefined && error.status !== 404 && <Problem error={error} />}
      {error?.status === 404 && (
        <div class="card">
          <Empty icon="find" title="There is no tree with this root.">
            It may have been pruned or deleted.
          </Empty>
        </div>
      )}
      {tree === undefined && error === undefined && <Skeleton rows={10} />}
      {tree !== undefined && placed !== undefined && (
        <>
          <div class={kind === undefined ? "columns" : "columns with-plan"}>
            <Card
              title="How it came about"
              note={`${plural(countJobs(tree), "job")} · ${describeSpan(tree)}`}
              side={
                <span class="legend">
                  <TreeActions tree={tree} onPlan={setKind} />
                  <Link class="link" to={jobsPath({ rootSequenceId: id })}>
                    As a list
                  </Link>
                  <span>
                    <i class="key-critical" /> critical path
                  </span>
                  <span>
                    <i class="key-blocks" /> waits for
                  </span>
                </span>
              }
              flush
            >
              <div class="graph" tabIndex={0} role="group" aria-label="Graph of the tree">
                <svg
                  width={placed.width}
                  height={placed.height}
                  viewBox={`0 0 ${placed.width} ${placed.height}`}
                >
                  <defs>
                    <marker
                      id="head"
                      viewBox="0 0 8 8"
                      refX="7"
                      refY="4"
                      markerWidth="7"
                      markerHeight="7"
                      orient="auto"
                    >
                      <path class="head" d="M0 0L8 4L0 8Z" />
                    </marker>
                    <marker
                      id="head-critical"
                      viewBox="0 0 8 8"
                      refX="7"
                      refY="4"
                      markerWidth="5"
                      markerHeight="5"
                      orient="auto"
                    >
                      <path class="head critical" d="M0 0L8 4L0 8Z" />
                    </marker>
                  </defs>
                  {placed.edges.map(({ edge, path }) => (
                    <path
                      key={`${edge.from} ${edge.to}`}
                      class={`edge ${edge.kind} ${edge.isCritical ? "critical" : ""}`}
                      d={path}
                      marker-end={edge.isCritical ? "url(#head-critical)" : "url(#head)"}
                    />
                  ))}
                  {placed.nodes.map((one) => (
                    <Node key={one.node.id} placed={one} root={id} />
                  ))}
                </svg>
              </div>
            </Card>
            {kind !== undefined && (
              <PlanPanel
                kind={kind}
                choice={{ filter: { rootSequenceId: id } }}
                title="this tree"
                onClose={() => setKind(undefined)}
                onDone={reload}
              />
            )}
          </div>
          <CriticalPath tree={tree} />
        </>
      )}
    </>
  );
};
