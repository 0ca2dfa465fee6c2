import { formatAge, formatTime } from "../format.ts";
import { now } from "../state/clock.ts";

/** A moment in the chosen zone; the exact one on hover. */
export const Time = ({ at, seconds = true }: { readonly at: string; readonly seconds?: boolean }) => (
  <time dateTime={at} title={at}>
    {formatTime(at, now.value, { seconds })}
  </time>
);

/** How long ago, or how long until. */
export const Age = ({ at, words = true }: { readonly at: string; readonly words?: boolean }) => {
  const age = now.value - Date.parse(at);
  // The clock of the store is known to some milliseconds, so what is less than a second away is neither before nor after.
  const isNow = Math.abs(age) < 1_000;
  const later = isNow ? "now" : age < 0 ? `in ${formatAge(-age)}` : `${formatAge(age)} ago`;
  const text = words || (age < 0 && !isNow) ? later : formatAge(age);
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  );
};
