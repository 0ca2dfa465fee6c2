import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NewDeployment } from "../../../src/answers/numbers.ts";
import { formatRate, formatTime } from "../state/format.ts";
import { now } from "../state/settings.ts";
import { Scroll } from "./card.tsx";

const plotWidth = 1_000;

const plotHeight = 200;

/** A round number at or above the largest value. */
const ceiling = (value: number): number => {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
};

const DeploymentKeys = ({ deployments }: { readonly deployments: readonly NewDeployment[] }) => (
  <>
    {deployments.slice(-3).map(({ deployment, at }) => (
      <span key={deployment} class="chart-key deployment">
        <span class="mono">{deployment}</span> since {formatTime(at, now.value, { seconds: false })}
      </span>
    ))}
    {deployments.length > 3 && <span>and {deployments.length - 3} before</span>}
  </>
);

/**
 * What all charts have: scales, marks of deployments, a table as an alternative. The numbers are HTML around the drawing, so that
 * they never stretch.
 */
export const Plot = ({
  label,
  times,
  most,
  deployments,
  columns,
  legend,
  at,
  onPoint,
  bars = false,
  isLow = false,
  children,
}: {
  readonly label: string;
  readonly times: readonly string[];
  /** The largest value that is drawn. */
  readonly most: number;
  readonly deployments: readonly NewDeployment[];
  /** What the table shows. */
  readonly columns: readonly { readonly name: string; readonly values: readonly number[] }[];
  readonly legend: ComponentChildren;
  readonly at: number | undefined;
  onPoint(index: number | undefined): void;
  /** Each time has a place of its own width, not a point. */
  readonly bars?: boolean;
  readonly isLow?: boolean;
  children(x: (index: number) => number, y: (value: number) => number): ComponentChildren;
}) => {
  const [isTable, setIsTable] = useState(false);
  const top = ceiling(most);
  const places = Math.max(1, bars ? times.length : times.length - 1);
  const x = (index: number): number => (index / places) * plotWidth;
  const y = (value: number): number => plotHeight - (value / top) * plotHeight;
  const indexAt = (clientX: number, box: DOMRect): number => {
    const place = ((clientX - box.left) / box.width) * places;
    return Math.max(0, Math.min(times.length - 1, bars ? Math.floor(place) : Math.round(place)));
  };
  const start = Date.parse(times[0] ?? "");
  const width = Date.parse(times[1] ?? "") - start;
  return (
    <figure class={isLow ? "chart low" : "chart"}>
      <figcaption>
        {legend}
        <DeploymentKeys deployments={deployments} />
        <button
          type="button"
          class="button quiet small side"
          aria-pressed={isTable}
          onClick={() => setIsTable(!isTable)}
        >
          {isTable ? "Show as chart" : "Show as table"}
        </button>
      </figcaption>
      {isTable ? (
        <Scroll label={label}>
          <table>
            <thead>
              <tr>
                <th>From</th>
                {columns.map(({ name }) => (
                  <th key={name} class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <td>
                    {formatTime(time, now.value)}
                    {deployments
                      .filter((deployment) => deployment.at === time)
                      .map(({ deployment }) => (
                        <span key={deployment} class="tag mono">
                          {deployment}
                        </span>
                      ))}
                  </td>
                  {columns.map(({ name, values }) => (
                    <td key={name} class="number">
                      {formatRate(values[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <div class="plot">
          <div class="scale-y" aria-hidden="true">
            {[top, top / 2, 0].map((value) => (
              <span key={value}>{formatRate(value)}</span>
            ))}
          </div>
          <svg
            viewBox={`0 0 ${plotWidth} ${plotHeight}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={label}
            onPointerMove={(event) =>
              onPoint(indexAt(event.clientX, event.currentTarget.getBoundingClientRect()))
            }
            onPointerLeave={() => onPoint(undefined)}
          >
            {[0, plotHeight / 2, plotHeight].map((level) => (
              <path key={level} class="grid" d={`M0 ${level}H${plotWidth}`} />
            ))}
            {children(x, y)}
            {deployments.map(({ deployment, at: came }) => (
              <path
                key={deployment}
                class="mark"
                d={`M${x((Date.parse(came) - start) / width).toFixed(1)} 0V${plotHeight}`}
              />
            ))}
            {at !== undefined && <path class="cross" d={`M${x(bars ? at + 0.5 : at)} 0V${plotHeight}`} />}
          </svg>
          <div class="scale-x" aria-hidden="true">
            {[0, 0.25, 0.5, 0.75, 1].map((share) => {
              const time = times[Math.round(share * (times.length - 1))];
              return (
                <span key={share}>
                  {time === undefined ? "" : formatTime(time, now.value, { seconds: false })}
                </span>
              );
            })}
          </div>
        </div>
      )}
    </figure>
  );
};

export interface Series {
  readonly name: string;
  /** Its look: a class of the style sheet. */
  readonly look: "in" | "out" | "bad";
  readonly values: readonly number[];
}

/** What one line has more than the other, where it has. */
export interface Gap {
  readonly name: string;
  readonly upper: readonly number[];
  readonly lower: readonly number[];
}

/** Lines over time. */
export const Chart = ({
  label,
  times,
  series,
  unit,
  gap,
  deployments = [],
  isLow = false,
}: {
  readonly label: string;
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly unit: string;
  readonly gap?: Gap;
  readonly deployments?: readonly NewDeployment[];
  /** Goes with another chart above it. */
  readonly isLow?: boolean;
}) => {
  const [at, setAt] = useState<number>();
  const values = series.flatMap((line) => line.values);
  return (
    <Plot
      label={label}
      times={times}
      most={Math.max(0, ...values)}
      deployments={deployments}
      columns={series.map(({ name, values: column }) => ({ name: `${name}, ${unit}`, values: column }))}
      isLow={isLow}
      at={at}
      onPoint={setAt}
      legend={
        <>
          {series.map(({ name, look, values: line }) => (
            <span key={name} class={`chart-key ${look}`}>
              {name}
              {at !== undefined && <b>{` ${formatRate(line[at] ?? 0)} ${unit}`}</b>}
            </span>
          ))}
          {gap !== undefined && <span class="chart-key gap">{gap.name}</span>}
          {at !== undefined && times[at] !== undefined && <span>at {formatTime(times[at], now.value)}</span>}
        </>
      }
    >
      {(x, y): ComponentChildren => {
        const point = (value: number, index: number): string =>
          `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
        const line = (all: readonly number[]): string => `M${all.map(point).join("L")}`;
        return (
          <>
            {gap !== undefined && (
              <path
                class="gap"
                d={`${line(gap.upper.map((value, index) => Math.max(value, gap.lower[index] ?? 0)))}L${gap.lower
                  .map(point)
                  .reverse()
                  .join("L")}Z`}
              />
            )}
            {series.map(({ name, look, values: all }) => (
              <g key={name} class={look}>
                {look !== "in" && (
                  <path class="area" d={`${line(all)}L${plotWidth} ${plotHeight}L0 ${plotHeight}Z`} />
                )}
                <path class="line" d={line(all)} />
              </g>
            ))}
          </>
        );
      }}
    </Plot>
  );
};
