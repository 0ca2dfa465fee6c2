import type { ComponentChildren } from "preact";
import type {
  Backlog,
  Situation,
  Statistics,
  StatisticsPoint,
  TypeBacklog,
  TypeStatistics,
} from "../answers.ts";
import {
  formatAge,
  formatCapped,
  formatCount,
  formatDuration,
  formatRate,
  formatShare,
  plural,
} from "../format.ts";
import { Card, Scroll } from "../parts/card.tsx";
import { Chart } from "../parts/chart.tsx";
import { Icon } from "../parts/icon.tsx";
import { Link } from "../parts/link.tsx";
import { Empty, Skeleton } from "../parts/notice.tsx";
import { Segments, Top } from "../parts/shell.tsx";
import { now } from "../state/clock.ts";
import { usePolled } from "../state/poll.ts";
import { changeQuery, jobsPath, place } from "../state/router.ts";
import { backlog, offers } from "../state/session.ts";

const ranges = [
  ["15m", "15 m", 15],
  ["1h", "1 h", 60],
  ["6h", "6 h", 6 * 60],
  ["24h", "24 h", 24 * 60],
  ["7d", "7 d", 7 * 24 * 60],
] as const;

type Range = (typeof ranges)[number][0];

const icons = { calm: "calm", attention: "warning", trouble: "failed" } as const;

const SituationCard = () => {
  const { data } = usePolled<Situation>("situation");
  if (data === undefined) return null;
  return (
    <section class={`situation ${data.level}`} aria-label="The situation">
      <Icon name={icons[data.level]} />
      <p>
        {data.sentences.map(({ text, href }, index) => (
          <span key={index}>{href === null ? text : <Link to={`/${href}`}>{text}</Link>} </span>
        ))}
      </p>
    </section>
  );
};

const Figure = ({
  label,
  value,
  unit,
  note,
  to,
  tone = "",
}: {
  readonly label: string;
  readonly value: string;
  readonly unit?: string;
  readonly note: ComponentChildren;
  readonly to: string;
  readonly tone?: string;
}) => (
  <Link class={`figure ${tone}`} to={to}>
    <span class="small dim">{label}</span>
    <span class="value">
      {value}
      {unit !== undefined && <small>{unit}</small>}
    </span>
    <span class="small dim note">{note}</span>
  </Link>
);

/** By the minute where there is less than one a second. */
const rateOf = (perSecond: number): { value: string; unit: string } =>
  perSecond === 0 || perSecond >= 1
    ? { value: formatRate(perSecond), unit: "/s" }
    : { value: formatRate(perSecond * 60), unit: "/min" };

const sum = <T,>(rows: readonly T[], of: (row: T) => number): number =>
  rows.reduce((total, row) => total + of(row), 0);

const Figures = ({
  known,
  statistics,
}: {
  readonly known: Backlog;
  readonly statistics: Statistics | undefined;
}) => {
  const { types, cap } = known;
  const isCapped = types.some(({ runnable }) => runnable >= cap);
  const runnable = sum(types, (type) => type.runnable);
  const most = [...types].sort((a, b) => b.runnable - a.runnable)[0];
  const oldest = types
    .filter(({ oldestRunnableAt }) => oldestRunnableAt !== null)
    .sort((a, b) => Date.parse(a.oldestRunnableAt!) - Date.parse(b.oldestRunnableAt!))[0];
  const failed = sum(types, (type) => type.failed);
  const expired = sum(types, (type) => type.expired);
  const seconds =
    statistics === undefined ? 1 : (Date.parse(statistics.before) - Date.parse(statistics.from)) / 1_000;
  const ended =
    statistics === undefined ? 0 : sum(statistics.points, ({ completed, failed: lost }) => completed + lost);
  const lost = statistics === undefined ? 0 : sum(statistics.points, (point) => point.failed);
  return (
    <div class="figures">
      {statistics !== undefined && (
        <>
          <Figure
            label="Created"
            {...rateOf(sum(statistics.points, ({ created }) => created) / seconds)}
            note={plural(
              sum(statistics.points, ({ created }) => created),
              "job",
            )}
            to="/jobs"
          />
          <Figure
            label="Completed"
            {...rateOf(sum(statistics.points, ({ completed }) => completed) / seconds)}
            note={plural(
              sum(statistics.points, ({ completed }) => completed),
              "job",
            )}
            to={jobsPath({ status: "completed" })}
          />
        </>
      )}
      <Figure
        label="Failed"
        value={formatCount(failed)}
        note={
          statistics === undefined
            ? "kept until redriven or deleted"
            : `${formatShare(lost, ended)} of what ended`
        }
        to="/failed"
        tone={failed > 0 ? "bad" : ""}
      />
      <Figure
        label="Runnable now"
        value={formatCount(runnable) + (isCapped ? "+" : "")}
        note={most === undefined || most.runnable === 0 ? "nothing waits" : `most of them ${most.typeName}`}
        to={jobsPath({ status: "pending" })}
      />
      <Figure
        label="Oldest runnable"
        value={oldest === undefined ? "–" : formatAge(now.value - Date.parse(oldest.oldestRunnableAt!))}
        note={oldest === undefined ? "nothing waits" : `${oldest.typeName} in ${oldest.queue}`}
        to={jobsPath(
          oldest === undefined
            ? { status: "pending" }
            : { status: "pending", queue: oldest.queue, typeName: oldest.typeName },
        )}
      />
      <Figure
        label="Running"
        value={formatCount(sum(types, (type) => type.running))}
        note={expired === 0 ? "all leases held" : `${formatCount(expired)} with an expired lease`}
        to={jobsPath({ status: "running" })}
        tone={expired > 0 ? "bad" : ""}
      />
    </div>
  );
};

/** Every point of the range that is over, also those in which nothing happened. */
const allPoints = ({ from, before, width, points }: Statistics): StatisticsPoint[] => {
  const known = new Map(points.map((point) => [Date.parse(point.at), point]));
  const all: StatisticsPoint[] = [];
  for (let at = Date.parse(from); at + width <= Date.parse(before); at += width)
    all.push(
      known.get(at) ?? { at: new Date(at).toISOString(), created: 0, completed: 0, failed: 0, retried: 0 },
    );
  return all;
};

const Throughput = ({ statistics }: { readonly statistics: Statistics }) => {
  const { width } = statistics;
  const points = allPoints(statistics);
  const rate = (count: number): number => count / (width / 1_000);
  return (
    <Card title="Throughput" note={`jobs per second, by ${formatDuration(width)}`}>
      <Chart
        label="Jobs created, completed and failed per second"
        unit="/s"
        times={points.map(({ at }) => at)}
        series={[
          { name: "created", look: "in", values: points.map(({ created }) => rate(created)) },
          { name: "completed", look: "out", values: points.map(({ completed }) => rate(completed)) },
          { name: "failed", look: "bad", values: points.map(({ failed }) => rate(failed)) },
        ]}
      />
    </Card>
  );
};

const parts = [
  ["runnable", "runnable"],
  ["later", "for later"],
  ["running", "running"],
  ["blocked", "blocked"],
] as const;

const Bar = ({ type }: { readonly type: TypeBacklog }) => {
  const total = sum(parts, ([name]) => type[name]);
  let x = 0;
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="part-none" width="100" height="8" />
      {total > 0 &&
        parts.map(([name]) => {
          const width = (100 * type[name]) / total;
          const from = x;
          x += width;
          return width === 0 ? null : (
            <rect key={name} class={`part-${name}`} x={from} width={width} height="8" />
          );
        })}
    </svg>
  );
};

const add = (rows: readonly TypeBacklog[]): TypeBacklog => {
  const dues = rows.map(({ oldestRunnableAt }) => oldestRunnableAt).filter((at) => at !== null);
  return {
    queue: rows[0]!.queue,
    typeName: "",
    runnable: sum(rows, (row) => row.runnable),
    later: sum(rows, (row) => row.later),
    running: sum(rows, (row) => row.running),
    expired: sum(rows, (row) => row.expired),
    blocked: sum(rows, (row) => row.blocked),
    failed: sum(rows, (row) => row.failed),
    oldestRunnableAt: dues.sort()[0] ?? null,
  };
};

const BacklogRow = ({
  row,
  cap,
  numbers,
}: {
  readonly row: TypeBacklog;
  readonly cap: number;
  readonly numbers: TypeStatistics | undefined;
}) => {
  const isQueue = row.typeName === "";
  const filter = isQueue ? { queue: row.queue } : { queue: row.queue, typeName: row.typeName };
  const cell = (status: string, count: number) => (
    <td class="number">
      {count === 0 ? (
        <span class="dim">0</span>
      ) : (
        <Link to={jobsPath({ ...filter, status })}>{formatCapped(count, cap)}</Link>
      )}
    </td>
  );
  const age = row.oldestRunnableAt === null ? null : now.value - Date.parse(row.oldestRunnableAt);
  return (
    <tr class={isQueue ? "queue" : "type"} {...(isQueue && { "data-row": "" })}>
      <td>
        <Link class={isQueue ? "strong" : ""} to={jobsPath(filter)}>
          {isQueue ? row.queue : row.typeName}
        </Link>
      </td>
      <td>
        <Bar type={row} />
      </td>
      {cell("pending", row.runnable)}
      {cell("pending", row.later)}
      {cell("running", row.running)}
      {cell("blocked", row.blocked)}
      <td class={row.failed > 0 ? "number bad" : "number"}>
        {row.failed === 0 ? (
          <span class="dim">0</span>
        ) : (
          <Link to={jobsPath({ ...filter, status: "failed" })}>{formatCapped(row.failed, cap)}</Link>
        )}
      </td>
      <td class={age !== null && age > 60_000 ? "number bad" : "number"}>
        {age === null ? <span class="dim">–</span> : formatAge(age)}
      </td>
      {numbers !== undefined && (
        <>
          <td class="number">
            {isQueue ? (
              ""
            ) : numbers.startP95 === null ? (
              <span class="dim">–</span>
            ) : (
              formatDuration(numbers.startP95)
            )}
          </td>
          <td class="number">
            {isQueue ? (
              ""
            ) : numbers.runP95 === null ? (
              <span class="dim">–</span>
            ) : (
              formatDuration(numbers.runP95)
            )}
          </td>
        </>
      )}
    </tr>
  );
};

const nothing = {
  created: 0,
  completed: 0,
  failed: 0,
  retried: 0,
  startP50: null,
  startP95: null,
  runP50: null,
  runP95: null,
};

const QueueTable = ({
  known,
  statistics,
}: {
  readonly known: Backlog;
  readonly statistics: Statistics | undefined;
}) => {
  const queues = new Map<string, TypeBacklog[]>();
  for (const type of known.types) queues.set(type.queue, [...(queues.get(type.queue) ?? []), type]);
  const numbersOf = (row: TypeBacklog): TypeStatistics | undefined =>
    statistics === undefined
      ? undefined
      : (statistics.types.find(({ queue, typeName }) => queue === row.queue && typeName === row.typeName) ?? {
          ...nothing,
          queue: row.queue,
          typeName: row.typeName,
        });
  if (known.types.length === 0)
    return (
      <Card title="Queues">
        <Empty title="Nothing waits, runs or has failed.">
          All jobs have completed, or none was started. Those that completed are under{" "}
          <Link class="link" to="/jobs">
            Jobs
          </Link>
          .
        </Empty>
      </Card>
    );
  return (
    <Card
      title="Queues"
      flush
      side={
        <span class="legend">
          {parts.map(([name, words]) => (
            <span key={name}>
              <i class={`key-${name}`} /> {words}
            </span>
          ))}
        </span>
      }
    >
      <Scroll label="Queues">
        <table class="queues">
          <thead>
            <tr>
              <th>Queue and type</th>
              <th>Unfinished</th>
              <th class="number">Runnable</th>
              <th class="number">For later</th>
              <th class="number">Running</th>
              <th class="number">Blocked</th>
              <th class="number">Failed</th>
              <th class="number">Oldest</th>
              {statistics !== undefined && (
                <>
                  <th class="number">Start p95</th>
                  <th class="number">Run p95</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {[...queues]
              .sort(([a], [b]) => a.localeCompare(b))
              .flatMap(([queue, rows]) => [
                <BacklogRow key={queue} row={add(rows)} cap={Infinity} numbers={numbersOf(add(rows))} />,
                ...[...rows]
                  .sort((a, b) => a.typeName.localeCompare(b.typeName))
                  .map((row) => (
                    <BacklogRow
                      key={`${queue} ${row.typeName}`}
                      row={row}
                      cap={known.cap}
                      numbers={numbersOf(row)}
                    />
                  )),
              ])}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
};

export const OverviewPage = () => {
  const wanted = place.value.query.get("range");
  const range = ranges.find(([key]) => key === wanted) ?? ranges[1];
  const { data: statistics } = usePolled<Statistics>(
    offers("history") ? `statistics?minutes=${range[2]}` : null,
    10_000,
  );
  const known = backlog.value;
  return (
    <>
      <Top title="Overview">
        {offers("history") && (
          <Segments<Range>
            label="Time range"
            options={ranges.map(([key, name]) => [key, name] as const)}
            value={range[0]}
            onChange={(next) => changeQuery({ range: next === "1h" ? undefined : next })}
          />
        )}
      </Top>
      {known === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <>
          <SituationCard />
          <Figures known={known} statistics={statistics} />
          {statistics !== undefined && statistics.points.length > 0 && <Throughput statistics={statistics} />}
          <QueueTable known={known} statistics={statistics} />
        </>
      )}
    </>
  );
};
