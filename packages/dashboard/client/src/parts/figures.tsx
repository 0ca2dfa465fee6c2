import type { ComponentChildren } from "preact";
import { formatAge, formatCapped, formatCount, formatDuration, rateOf } from "../state/format.ts";
import { jobsPath, type Query } from "../state/router.ts";
import { now } from "../state/settings.ts";
import { Link } from "./link.tsx";

/** How many slots of workers are used, with a link to their jobs if one is given. */
export const BusySlots = ({
  running,
  slots,
  to,
}: {
  readonly running: number;
  readonly slots: number;
  readonly to?: string;
}) => {
  if (slots === 0) return <span class="dim">–</span>;
  const words = `${formatCount(running)} of ${formatCount(slots)}`;
  return (
    <span class="row nowrap">
      <meter min={0} max={slots} value={running} aria-label="Busy slots" />
      {to === undefined ? words : <Link to={to}>{words}</Link>}
    </span>
  );
};

/** A number, its label, and a link to the jobs behind it. */
export const Figure = ({
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
  readonly to?: string | undefined;
  readonly tone?: string;
}) => {
  const content = (
    <>
      <span class="small dim">{label}</span>
      <span class="value">
        {value}
        {unit !== undefined && <small>{unit}</small>}
      </span>
      <span class="small dim note">{note}</span>
    </>
  );
  return to === undefined ? (
    <div class={`figure ${tone}`}>{content}</div>
  ) : (
    <Link class={`figure ${tone}`} to={to}>
      {content}
    </Link>
  );
};

const none = <span class="dim">–</span>;

/** A number of jobs, with a link to them. */
export const CountCell = ({
  count,
  cap = Infinity,
  filter,
  isBad = false,
}: {
  readonly count: number;
  readonly cap?: number | undefined;
  readonly filter: Query;
  readonly isBad?: boolean;
}) => (
  <td class={isBad && count > 0 ? "number bad" : "number"}>
    {count === 0 ? <span class="dim">0</span> : <Link to={jobsPath(filter)}>{formatCapped(count, cap)}</Link>}
  </td>
);

export const RateCell = ({ perSecond }: { readonly perSecond: number | undefined }) => {
  if (perSecond === undefined || perSecond === 0)
    return <td class="number">{perSecond === undefined ? none : <span class="dim">0</span>}</td>;
  const { value, unit } = rateOf(perSecond);
  return (
    <td class="number">
      {value} <span class="dim">{unit}</span>
    </td>
  );
};

export const DurationCell = ({
  ms,
  late = Infinity,
}: {
  readonly ms: number | null;
  readonly late?: number;
}) => (
  <td class={ms !== null && ms > late ? "number bad" : "number"}>
    {ms === null ? none : formatDuration(ms)}
  </td>
);

/** Longer waits are marked. */
export const lateMs = 60_000;

export const AgeCell = ({ since }: { readonly since: string | null }) => {
  const age = since === null ? null : now.value - Date.parse(since);
  return (
    <td class={age !== null && age > lateMs ? "number bad" : "number"}>
      {age === null ? none : formatAge(age)}
    </td>
  );
};

const width = 84;

const height = 20;

/** A sparkline. Its numbers are in the text next to it, or in a table. */
export const Spark = ({ values }: { readonly values: readonly number[] }) => {
  const top = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)} ${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={`M${points.join("L")}L${width} ${height}L0 ${height}Z`} />
      <path class="line" d={`M${points.join("L")}`} />
    </svg>
  );
};
