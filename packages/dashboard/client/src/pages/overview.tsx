import type { Process, Summary } from "../../../src/answers/numbers.ts";
import { Card, Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { BusySlots } from "../parts/figures.tsx";
import { FindingsNote } from "../parts/findings.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { Icon } from "../parts/icon.tsx";
import { Age, Time } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { QueueTable } from "../parts/queue-table.tsx";
import { MomentBar, RangePicker } from "../parts/range-bar.tsx";
import { Top } from "../parts/shell.tsx";
import { Failures, Throughput } from "../parts/throughput.tsx";
import { formatCount, plural } from "../state/format.ts";
import { useTopic } from "../state/live.ts";
import { countUnfinished, describeQueues, sum, useKnown } from "../state/queue-rows.ts";
import { useTimeToStart } from "../state/range.ts";
import { PastFigures, PresentFigures } from "./overview/figures.tsx";

const icons = { calm: "calm", attention: "warning", trouble: "failed" } as const;

const SituationCard = ({ summary }: { readonly summary: Summary }) => (
  <section class={`summary ${summary.level}`} aria-label="The summary">
    <Icon name={icons[summary.level]} />
    <ul>
      {summary.sentences.map(({ text, href, since }, index) => (
        <li key={index}>
          {href === null ? text : <Link to={`/${href}`}>{text}</Link>}{" "}
          {since !== null && (
            <span class="dim">
              (since <Time at={since} seconds={false} />){" "}
            </span>
          )}
        </li>
      ))}
    </ul>
  </section>
);

/** Processes that are alive, by deployment: the newest first. */
const WorkersCard = ({ processes }: { readonly processes: readonly Process[] }) => {
  const alive = processes.filter(({ isAlive }) => isAlive);
  const deployments = new Map<string | null, Process[]>();
  for (const process of alive)
    deployments.set(process.deployment, [...(deployments.get(process.deployment) ?? []), process]);
  const rows = [...deployments]
    .map(([deployment, all]) => {
      const workers = all.flatMap((process) => process.workers);
      return {
        deployment,
        processes: all.length,
        workers: workers.length,
        slots: sum(workers, ({ slots }) => slots),
        running: sum(workers, ({ running }) => running),
        startedAt: all.map(({ startedAt }) => startedAt).sort()[0]!,
        seenAt: all
          .map(({ seenAt }) => seenAt)
          .sort()
          .at(-1)!,
      };
    })
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  const slots = sum(rows, (row) => row.slots);
  return (
    <Card
      title="Workers"
      note={`${plural(
        sum(rows, (row) => row.workers),
        "worker",
      )} alive, ${plural(slots, "slot")}`}
      side={
        <>
          <Link class="link small" to="/compare">
            Compare deployments
          </Link>
          <Link class="link small" to="/workers">
            All processes
          </Link>
        </>
      }
      flush
    >
      {rows.length === 0 ? (
        <Empty icon="workers" title="No process is alive.">
          Jobs wait until a worker starts: <code>createWorker().start()</code>. It appears here with its first
          report.
        </Empty>
      ) : (
        <Scroll label="Workers by deployment">
          <table>
            <thead>
              <tr>
                <th>Deployment</th>
                <th class="number">Processes</th>
                <th class="number">Workers</th>
                <th>Busy</th>
                <th class="number">Since</th>
                <th class="number">Seen</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.deployment}>
                  <td class="mono">{row.deployment ?? <span class="dim">not named</span>}</td>
                  <td class="number">{formatCount(row.processes)}</td>
                  <td class="number">{formatCount(row.workers)}</td>
                  <td>
                    <BusySlots running={row.running} slots={row.slots} />
                  </td>
                  <td class="number">
                    <Age at={row.startedAt} />
                  </td>
                  <td class="number">
                    <Age at={row.seenAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  );
};

export const OverviewPage = () => {
  const { isNow, known, error, isComplete } = useKnown();
  const { data: timeToStart } = useTimeToStart();
  const { data: summary } = useTopic("summary", { when: isNow });
  const { backlog, statistics, processes } = known;
  return (
    <>
      <Top title="Overview">
        <RangePicker />
      </Top>
      <MomentBar statistics={statistics} />
      {error !== undefined && <Problem error={error} />}
      {isNow && summary !== undefined && <SituationCard summary={summary} />}
      {isNow && <FindingsNote />}
      {backlog !== undefined && <PresentFigures known={backlog} statistics={statistics} />}
      {!isNow && statistics !== undefined && <PastFigures statistics={statistics} />}
      {statistics !== undefined && (
        <div class="columns wide-narrow">
          <Throughput statistics={statistics} unfinished={countUnfinished(backlog)} />
          <Failures statistics={statistics} />
        </div>
      )}
      {timeToStart !== undefined && <HeatMap title="Time to start, by queue" data={timeToStart} />}
      {isComplete && <QueueTable rows={describeQueues(known)} timeToStart={timeToStart} />}
      {processes !== undefined && <WorkersCard processes={processes} />}
      {!isComplete && error === undefined && <Skeleton rows={8} />}
    </>
  );
};
