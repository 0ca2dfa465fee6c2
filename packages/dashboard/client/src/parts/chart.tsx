import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NewDeployment } from "../answers.ts";
import { formatRate, formatTime } from "../format.ts";
import { now } from "../state/clock.ts";
import { Plot, plotHeight, plotWidth } from "./plot.tsx";

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
