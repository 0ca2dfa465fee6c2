import { formatAge, formatCapped, formatDuration, rateOf } from "../format.ts";
import { now } from "../state/clock.ts";
import { type Query, jobsPath } from "../state/router.ts";
import { Link } from "./link.tsx";

const none = <span class="dim">–</span>;

/** How many jobs there are, and the way to them. */
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

/** What waits longer than this is marked. */
export const lateMs = 60_000;

export const AgeCell = ({ since }: { readonly since: string | null }) => {
  const age = since === null ? null : now.value - Date.parse(since);
  return (
    <td class={age !== null && age > lateMs ? "number bad" : "number"}>
      {age === null ? none : formatAge(age)}
    </td>
  );
};
