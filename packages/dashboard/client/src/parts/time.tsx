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
  const text = age < 0 ? `in ${formatAge(-age)}` : words ? `${formatAge(age)} ago` : formatAge(age);
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  );
};
