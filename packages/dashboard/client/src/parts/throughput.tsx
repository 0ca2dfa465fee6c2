import { useState } from "preact/hooks";
import type { Statistics, StatisticsPoint } from "../../../src/answers/numbers.ts";
import { formatCount, formatShare, formatTime, formatUnit, plural } from "../state/format.ts";
import { sum } from "../state/queue-rows.ts";
import { jobsPath } from "../state/router.ts";
import { now } from "../state/settings.ts";
import { Card, Empty } from "./card.tsx";
import { Chart, Plot } from "./chart.tsx";
import { Link } from "./link.tsx";

/** Every complete time bucket, also the empty ones. */
const allPoints = ({ from, before, bucketMs, points }: Statistics): StatisticsPoint[] => {
  const known = new Map(points.map((point) => [Date.parse(point.at), point]));
  const all: StatisticsPoint[] = [];
  for (let at = Date.parse(from); at + bucketMs <= Date.parse(before); at += bucketMs)
    all.push(
      known.get(at) ?? { at: new Date(at).toISOString(), created: 0, completed: 0, failed: 0, retried: 0 },
    );
  return all;
};

/**
 * How many jobs were unfinished at the end of each point: the number now, minus jobs created since, plus jobs ended since.
 * Jobs that were redriven or deleted meanwhile are not part of it.
 */
const reckonBack = (now: number, { points }: Statistics, times: readonly string[]): number[] => {
  const later = [...points].reverse();
  let unfinished = now;
  return [...times]
    .reverse()
    .map((time) => {
      while (later.length > 0 && later[0]!.at > time) {
        const { created, completed, failed } = later.shift()!;
        unfinished -= created - completed - failed;
      }
      return Math.max(0, unfinished);
    })
    .reverse();
};

/** Jobs created and ended over time, the difference, and the number of unfinished jobs. */
export const Throughput = ({
  statistics,
  unfinished,
}: {
  readonly statistics: Statistics;
  /** The number now; undefined if unknown. */
  readonly unfinished: number | undefined;
}) => {
  const { bucketMs, deployments } = statistics;
  const points = allPoints(statistics);
  const times = points.map(({ at }) => at);
  const rates = (of: (point: StatisticsPoint) => number): number[] =>
    points.map((point) => of(point) / (bucketMs / 1_000));
  const leftOver = sum(points, ({ created, completed, failed }) => created - completed - failed);
  const words = leftOver < 0 ? "more ended than came" : "more came than ended";
  return (
    <Card title="Throughput" note={`jobs per second, by ${formatUnit(bucketMs)}`}>
      {statistics.points.length === 0 ? (
        <Empty icon="overview" title="Nothing was counted in this time.">
          Processes count for themselves, unless they are created with <code>statistics: false</code>. Choose
          a longer time, or start a job.
        </Empty>
      ) : (
        <div class="stack">
          <Chart
            label={`Jobs created, completed and failed per second; ${formatCount(Math.abs(leftOver))} ${words}`}
            unit="/s"
            times={times}
            series={[
              { name: "created", look: "in", values: rates(({ created }) => created) },
              { name: "completed", look: "out", values: rates(({ completed }) => completed) },
              { name: "failed", look: "bad", values: rates(({ failed }) => failed) },
            ]}
            gap={{
              name: `left over${leftOver > 0 ? `: ${formatCount(leftOver)}` : ""}`,
              upper: rates(({ created }) => created),
              lower: rates(({ completed, failed }) => completed + failed),
            }}
            deployments={deployments}
          />
          {unfinished !== undefined && (
            <Chart
              isLow
              label={`Jobs that are not finished: ${formatCount(unfinished)} now`}
              unit="jobs"
              times={times}
              series={[
                {
                  name: "unfinished jobs, estimated",
                  look: "out",
                  values: reckonBack(unfinished, statistics, times),
                },
              ]}
              deployments={[]}
            />
          )}
        </div>
      )}
    </Card>
  );
};

/** Failures over time: each type has its part of a bar. */
export const Failures = ({
  statistics,
  queue,
}: {
  readonly statistics: Statistics;
  readonly queue?: string;
}) => {
  const [at, setAt] = useState<number>();
  const { failures, bucketMs, from, before, deployments } = statistics;
  const times = allPoints(statistics).map((point) => point.at);
  const columns = failures.map(({ typeName, types, points }) => {
    const known = new Map(points.map((point) => [point.at, point.failed]));
    return {
      name: typeName ?? plural(types, "other type"),
      values: times.map((time) => known.get(time) ?? 0),
    };
  });
  const totals = times.map((_, index) => sum(columns, ({ values }) => values[index]!));
  const all = sum(failures, ({ failed }) => failed);
  return (
    <Card title="Failures" note={`jobs per ${formatUnit(bucketMs)}, by type`}>
      {failures.length === 0 ? (
        <Empty title="Nothing failed in this time.">
          Jobs that failed before are under{" "}
          <Link class="link" to="/failed">
            Failed
          </Link>
          .
        </Empty>
      ) : (
        <>
          <Plot
            label={`${formatCount(all)} failures by type over time`}
            times={times}
            most={Math.max(0, ...totals)}
            deployments={deployments}
            columns={columns}
            at={at}
            onPoint={setAt}
            bars
            legend={
              <span>
                {at === undefined || times[at] === undefined
                  ? plural(all, "failure")
                  : `${plural(totals[at] ?? 0, "failure")} at ${formatTime(times[at], now.value)}`}
              </span>
            }
          >
            {(x, y) =>
              times.map((time, index) => {
                let below = 0;
                return columns.map(({ name, values }, type) => {
                  const failed = values[index]!;
                  if (failed === 0) return null;
                  below += failed;
                  return (
                    <rect
                      key={`${time} ${name}`}
                      class={`failures-${type}`}
                      x={x(index + 0.1)}
                      y={y(below)}
                      width={x(0.8)}
                      height={y(0) - y(failed)}
                    />
                  );
                });
              })
            }
          </Plot>
          <table class="failures">
            <tbody>
              {failures.map(({ typeName, failed }, type) => (
                <tr key={typeName}>
                  <td>
                    <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
                      <rect class={`failures-${type}`} width="1" height="1" />
                    </svg>
                    {typeName === null ? (
                      columns[type]!.name
                    ) : (
                      <Link
                        to={jobsPath({
                          status: "failed",
                          typeName,
                          queue,
                          finishedFrom: from,
                          finishedBefore: before,
                        })}
                      >
                        {typeName}
                      </Link>
                    )}
                  </td>
                  <td class="number">{formatCount(failed)}</td>
                  <td class="number dim">{formatShare(failed, all)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Card>
  );
};
