import type { TypeBacklog } from "../answers.ts";
import { sum } from "../state/queue-rows.ts";

const parts = [
  ["runnable", "runnable"],
  ["later", "for later"],
  ["running", "running"],
  ["blocked", "blocked"],
] as const;

/** What is not finished, by state. */
export const BacklogBar = ({ backlog }: { readonly backlog: TypeBacklog }) => {
  const total = sum(parts, ([name]) => backlog[name]);
  let x = 0;
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="part-none" width="100" height="8" />
      {total > 0 &&
        parts.map(([name]) => {
          const width = (100 * backlog[name]) / total;
          const from = x;
          x += width;
          return width === 0 ? null : (
            <rect key={name} class={`part-${name}`} x={from} width={width} height="8" />
          );
        })}
    </svg>
  );
};

export const BacklogLegend = () => (
  <span class="legend">
    {parts.map(([name, words]) => (
      <span key={name}>
        <i class={`key-${name}`} /> {words}
      </span>
    ))}
  </span>
);
