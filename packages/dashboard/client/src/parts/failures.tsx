import { useState } from "preact/hooks";
import type { Statistics } from "../answers.ts";
import { formatCount, formatShare, formatTime, formatUnit, plural } from "../format.ts";
import { now } from "../state/clock.ts";
import { sum } from "../state/queue-rows.ts";
import { jobsPath } from "../state/router.ts";
import { Card } from "./card.tsx";
import { Link } from "./link.tsx";
import { Empty } from "./notice.tsx";
import { Plot } from "./plot.tsx";
import { allPoints } from "./throughput.tsx";

/** Failures over time: each type has its part of a bar. */
export const Failures = ({
  statistics,
  queue,
}: {
  readonly statistics: Statistics;
  readonly queue?: string;
}) => {
  const [at, setAt] = useState<number>();
  const { failures, width, from, before, deployments } = statistics;
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
    <Card title="Failures" note={`jobs per ${formatUnit(width)}, by type`}>
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
