import type { Process } from "../../../src/answers/numbers.ts";
import { Card, Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { BusySlots } from "../parts/figures.tsx";
import { Age } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { Top } from "../parts/shell.tsx";
import { SortHead, sortRows } from "../parts/sort.tsx";
import { plural, shortId } from "../state/format.ts";
import { useTopic } from "../state/live.ts";
import { jobsPath, place } from "../state/router.ts";
import { offers } from "../state/session.ts";

const list = (names: readonly string[]): string =>
  names.length > 3 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more` : names.join(", ");

/**
 * A process that has closed is fine. One that stopped reporting may have crashed, unless it has no workers: then it reports only when
 * it has started jobs.
 */
const Condition = ({ isAlive, hasClosed, workers }: Process) => {
  if (isAlive) return <span class="tag ok">alive</span>;
  if (hasClosed) return <span class="tag">closed</span>;
  return workers.length === 0 ? <span class="tag">idle</span> : <span class="tag bad">silent</span>;
};

const Row = ({ process }: { readonly process: Process }) => {
  const slots = process.workers.reduce((total, worker) => total + worker.slots, 0);
  const running = process.workers.reduce((total, worker) => total + worker.running, 0);
  const queues = [...new Set(process.workers.flatMap(({ queues }) => queues))];
  const types = [...new Set(process.workers.flatMap(({ typeNames }) => typeNames))];
  return (
    <tr data-row="" class={process.isAlive ? "" : "dim"}>
      <td>
        <Condition {...process} />
      </td>
      <td
        class="strong"
        title={`Node.js ${process.nodeVersion}, Leasehold ${process.leaseholdVersion ?? "unknown"}`}
      >
        {process.host} <span class="dim">{process.pid}</span>
        {process.workers.map(({ workerId }) => (
          <span key={workerId} class="worker">
            <Link class="link mono small" to={jobsPath({ status: "running", leasedBy: workerId })}>
              {shortId(workerId)}
            </Link>
          </span>
        ))}
      </td>
      <td class="mono">{process.deployment ?? "–"}</td>
      <td class="names" title={types.join(", ")}>
        {process.workers.length === 0 ? <span class="dim">no worker</span> : list(types)}
      </td>
      <td class="names" title={queues.join(", ")}>
        {process.workers.length === 0 ? "–" : list(queues)}
      </td>
      <td>
        <BusySlots
          running={running}
          slots={slots}
          to={jobsPath({ leasedBy: process.workers.map(({ workerId }) => workerId) })}
        />
      </td>
      <td class="number">
        <Age at={process.startedAt} />
      </td>
      <td class="number">
        <Age at={process.seenAt} />
      </td>
    </tr>
  );
};

/** By name, so that rows stay where they are while processes report. */
const byName = (a: Process, b: Process): number =>
  a.host.localeCompare(b.host) || a.pid - b.pid || a.id.localeCompare(b.id);

const sortable: Readonly<Record<string, (process: Process) => string | null>> = {
  host: ({ host, pid }) => `${host} ${pid}`,
  deployment: ({ deployment }) => deployment,
  started: ({ startedAt }) => startedAt,
  seen: ({ seenAt }) => seenAt,
};

const Table = ({ label, processes }: { readonly label: string; readonly processes: readonly Process[] }) => (
  <Scroll label={label}>
    <table class="cards">
      <thead>
        <tr>
          <th>State</th>
          <SortHead name="host">Host and workers</SortHead>
          <SortHead name="deployment">Deployment</SortHead>
          <th>Types</th>
          <th>Queues</th>
          <th>Busy</th>
          <SortHead name="started">Started</SortHead>
          <SortHead name="seen">Seen</SortHead>
        </tr>
      </thead>
      <tbody>
        {sortRows(processes, sortable).map((process) => (
          <Row key={process.id} process={process} />
        ))}
      </tbody>
    </table>
  </Scroll>
);

export const WorkersPage = () => {
  const { data, error } = useTopic("processes", { when: offers("history") });
  const wanted = place.value.query.get("worker");
  const processes = data?.processes
    .filter(({ workers }) => wanted === null || workers.some(({ workerId }) => workerId === wanted))
    .sort(byName);
  const open = processes?.filter(({ isAlive, hasClosed }) => isAlive || !hasClosed) ?? [];
  const closed = processes?.filter((process) => !open.includes(process)) ?? [];
  const alive = processes?.filter(({ isAlive }) => isAlive).length ?? 0;
  return (
    <>
      <Top title="Workers" />
      {error !== undefined && processes === undefined && <Problem error={error} />}
      {!offers("history") && (
        <div class="card">
          <Empty icon="workers" title="This store does not know its workers.">
            Processes report to stores that keep a history. Those that hold a job are named under{" "}
            <Link class="link" to={jobsPath({ status: "running" })}>
              running jobs
            </Link>
            .
          </Empty>
        </div>
      )}
      {offers("history") && processes === undefined && error === undefined && <Skeleton />}
      {wanted !== null && (
        <p class="crumbs">
          The process of worker <b class="mono">{wanted}</b>.{" "}
          <Link class="link" to={jobsPath({ status: "running", leasedBy: wanted })}>
            What it runs
          </Link>{" "}
          ·{" "}
          <Link class="link" to="/workers">
            All processes
          </Link>
        </p>
      )}
      {processes?.length === 0 && wanted !== null && (
        <div class="card">
          <Empty icon="workers" title="No process reports this worker.">
            It has ended more than a day ago, or its process writes no statistics. Its jobs run again
            elsewhere when their leases expire.
          </Empty>
        </div>
      )}
      {processes?.length === 0 && wanted === null && (
        <div class="card">
          <Empty icon="workers" title="No process has reported yet.">
            Start a worker with <code>createWorker().start()</code>. It appears here with its first report.
          </Empty>
        </div>
      )}
      {processes !== undefined && processes.length > 0 && (
        <Card
          title="Processes"
          note={`${plural(alive, "process", "processes")} alive`}
          side={
            <Link class="link small" to="/compare">
              Compare deployments
            </Link>
          }
          flush
        >
          {open.length > 0 && <Table label="Processes" processes={open} />}
          {closed.length > 0 && (
            <details class="closed" open={wanted !== null}>
              <summary>{plural(closed.length, "process has closed", "processes have closed")}</summary>
              <Table label="Closed processes" processes={closed} />
            </details>
          )}
        </Card>
      )}
    </>
  );
};
