import { useState } from "preact/hooks";
import { formatRate, formatTime } from "../format.ts";
import { now } from "../state/clock.ts";
import { Scroll } from "./card.tsx";

export interface Series {
  readonly name: string;
  /** Its look: a class of the style sheet. */
  readonly look: "in" | "out" | "bad";
  readonly values: readonly number[];
}

const width = 1_000;
const height = 200;

/** A round number at or above the largest value. */
const ceiling = (value: number): number => {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
};

/** Lines over time. The numbers are HTML around the drawing, so that they never stretch; all of them are in a table, too. */
export const Chart = ({
  label,
  times,
  series,
  unit,
}: {
  readonly label: string;
  readonly times: readonly string[];
  readonly series: readonly Series[];
  readonly unit: string;
}) => {
  const [at, setAt] = useState<number>();
  const [isTable, setIsTable] = useState(false);
  const top = ceiling(Math.max(0, ...series.flatMap(({ values }) => values)));
  const x = (index: number): number => (times.length < 2 ? 0 : (index / (times.length - 1)) * width);
  const y = (value: number): number => height - (value / top) * height;
  const line = (values: readonly number[]): string =>
    values
      .map((value, index) => `${index === 0 ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
  const point = (clientX: number, box: DOMRect): number =>
    Math.max(
      0,
      Math.min(times.length - 1, Math.round(((clientX - box.left) / box.width) * (times.length - 1))),
    );
  return (
    <figure class="chart">
      <figcaption>
        {series.map(({ name, look, values }) => (
          <span key={name} class={`chart-key ${look}`}>
            {name}
            {at !== undefined && <b>{` ${formatRate(values[at] ?? 0)} ${unit}`}</b>}
          </span>
        ))}
        {at !== undefined && times[at] !== undefined && <span>at {formatTime(times[at], now.value)}</span>}
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
                {series.map(({ name }) => (
                  <th key={name} class="number">
                    {name}, {unit}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <td>{formatTime(time, now.value)}</td>
                  {series.map(({ name, values }) => (
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
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={label}
            onPointerMove={(event) =>
              setAt(point(event.clientX, event.currentTarget.getBoundingClientRect()))
            }
            onPointerLeave={() => setAt(undefined)}
          >
            {[0, height / 2, height].map((level) => (
              <path key={level} class="grid" d={`M0 ${level}H${width}`} />
            ))}
            {series.map(({ name, look, values }) => (
              <g key={name} class={look}>
                {look !== "in" && <path class="area" d={`${line(values)}L${width} ${height}L0 ${height}Z`} />}
                <path class="line" d={line(values)} />
              </g>
            ))}
            {at !== undefined && <path class="cross" d={`M${x(at)} 0V${height}`} />}
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
