import { useState } from "preact/hooks";
import type { TimeToStart } from "../../../src/answers/numbers.ts";
import { formatDuration, formatTime, formatUnit } from "../state/format.ts";
import { lookAt, pathAt, queuePath } from "../state/range.ts";
import { now } from "../state/settings.ts";
import { Card, Empty, Scroll } from "./card.tsx";
import { Link } from "./link.tsx";

/** From where on each colour begins, in milliseconds. */
const levels = [0, 100, 1_000, 5_000, 30_000, 300_000];

const levelOf = (ms: number): number => levels.findLastIndex((from) => ms >= from);

const Legend = () => (
  <span class="heat-scale">
    0
    <svg viewBox={`0 0 ${levels.length} 1`} preserveAspectRatio="none" aria-hidden="true">
      {levels.map((from, level) => (
        <rect key={from} class={`heat-${level}`} x={level} width="1.02" height="1" />
      ))}
    </svg>
    {formatDuration(levels.at(-1)!)} or more
  </span>
);

/** All cells of a colour are one path: there can be thousands of cells. */
const Strip = ({
  label,
  values,
  at,
  onPoint,
  onPick,
}: {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly at: number | undefined;
  onPoint(column: number | undefined): void;
  onPick(column: number): void;
}) => {
  const columnOf = ({ clientX, currentTarget }: MouseEvent): number => {
    const { left, width } = (currentTarget as SVGElement).getBoundingClientRect();
    const column = Math.floor(((clientX - left) / width) * values.length);
    return Math.max(0, Math.min(values.length - 1, column));
  };
  return (
    <svg
      viewBox={`0 0 ${values.length} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onPointerMove={(event) => onPoint(columnOf(event))}
      onPointerLeave={() => onPoint(undefined)}
      onClick={(event) => onPick(columnOf(event))}
    >
      <rect class="heat-none" width={values.length} height="1" />
      {levels.map((from, level) => (
        <path
          key={from}
          class={`heat-${level}`}
          d={values
            .map((value, column) =>
              value !== null && levelOf(value) === level ? `M${column} 0h1.02v1h-1.02z` : "",
            )
            .join("")}
        />
      ))}
      {at !== undefined && <path class="scrub" d={`M${at} 0h1v1h-1z`} />}
    </svg>
  );
};

const lastOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;

const show = (value: number | null | undefined): string => (value == null ? "–" : formatDuration(value));

/** How long jobs waited, by queue and time, as colours. A cell links to the page for the range that ends there. */
export const HeatMap = ({ data, title }: { readonly data: TimeToStart; readonly title: string }) => {
  const [pointed, setPointed] = useState<number>();
  const [chosen, setChosen] = useState<number>();
  const [isTable, setIsTable] = useState(false);
  const { queues, bucketMs, left } = data;
  const from = Date.parse(data.from);
  const columns = Math.ceil((Date.parse(data.before) - from) / bucketMs);
  const startOf = (column: number): string => new Date(from + column * bucketMs).toISOString();
  const timeOf = (column: number): string => formatTime(startOf(column), now.value, { seconds: false });
  const endOf = (column: number): number => from + (column + 1) * bucketMs;
  const at = pointed ?? chosen;
  const isKnown = queues.length > 0;
  const pick = (column: number): void => {
    setChosen(undefined);
    setPointed(undefined);
    lookAt(endOf(column));
  };
  return (
    <Card
      title={title}
      note={`from due to started, 95th percentile, by ${formatUnit(bucketMs)}`}
      side={
        isKnown && (
          <>
            <Legend />
            <button
              type="button"
              class="button quiet small"
              aria-pressed={isTable}
              onClick={() => setIsTable(!isTable)}
            >
              {isTable ? "Show as colours" : "Show as table"}
            </button>
          </>
        )
      }
      flush={isTable && isKnown}
    >
      {!isKnown ? (
        <Empty icon="clock" title="No job started in this time.">
          Choose a longer time, or look whether a worker is alive under{" "}
          <Link class="link" to="/workers">
            Workers
          </Link>
          .
        </Empty>
      ) : isTable ? (
        <Scroll label={title}>
          <table class="heat-table">
            <thead>
              <tr>
                <th>From</th>
                {queues.map(({ queue }) => (
                  <th key={queue} class="number">
                    {queue}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {Array.from({ length: columns }, (_, column) => (
                <tr key={column} data-row="">
                  <td>
                    <Link to={pathAt(endOf(column))} title="Show the range that ends here">
                      {timeOf(column)}
                    </Link>
                  </td>
                  {queues.map(({ queue, p95 }) => (
                    <td key={queue} class="number">
                      {show(p95[column])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <div class="heat">
          {queues.map(({ queue, p95 }) => (
            <>
              <Link class="strong" to={queuePath(queue)} title={queue}>
                {queue || "other queues"}
              </Link>
              <Strip
                label={`${queue}: time to start over time; lastly ${show(lastOf(p95))}`}
                values={p95}
                at={at}
                onPoint={setPointed}
                onPick={pick}
              />
              <span class="heat-value">{show(at === undefined ? lastOf(p95) : p95[at])}</span>
            </>
          ))}
          <span class="small dim">{at === undefined ? "Look back at" : timeOf(at)}</span>
          <input
            type="range"
            min={0}
            max={columns - 1}
            value={chosen ?? columns - 1}
            aria-label="Moment"
            aria-valuetext={timeOf(chosen ?? columns - 1)}
            onInput={(event) => setChosen(Number(event.currentTarget.value))}
          />
          <button
            type="button"
            class="button small"
            disabled={chosen === undefined}
            onClick={() => pick(chosen!)}
          >
            Look
          </button>
          <span class="heat-times" aria-hidden="true">
            {[0, 0.25, 0.5, 0.75, 1].map((share) => (
              <span key={share}>{timeOf(Math.round(share * (columns - 1)))}</span>
            ))}
          </span>
        </div>
      )}
      {left > 0 && <p class="small dim">{left} queues with fewer jobs are not shown.</p>}
    </Card>
  );
};
