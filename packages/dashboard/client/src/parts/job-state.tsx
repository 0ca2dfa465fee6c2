import type { JobRow, Status } from "../../../src/answers/jobs.ts";
import { formatAge, formatTime } from "../state/format.ts";
import { now } from "../state/settings.ts";
import { Icon, type IconName } from "./icon.tsx";

/** A state is always a shape, a word and a colour. */
export const StateMark = ({
  status,
  shape = status,
  words = status,
  pill = false,
}: {
  readonly status: Status;
  readonly shape?: IconName;
  readonly words?: string;
  readonly pill?: boolean;
}) => (
  <span class={`state ${status}${pill ? " pill" : ""}`}>
    <Icon name={shape} />
    {words}
  </span>
);

/** The state, and whether the job is retried or waits for its time. */
export const JobState = ({ job, pill = false }: { readonly job: JobRow; readonly pill?: boolean }) => {
  if (job.status !== "pending") return <StateMark status={job.status} pill={pill} />;
  const isLater = Date.parse(job.scheduledAt) > now.value;
  const words = job.attempt > 0 ? "pending · retrying" : isLater ? "pending · scheduled" : "pending";
  return (
    <StateMark
      status="pending"
      shape={isLater || job.attempt > 0 ? "waiting" : "pending"}
      words={words}
      pill={pill}
    />
  );
};

/** A time in the chosen zone; the exact time on hover. */
export const Time = ({ at, seconds = true }: { readonly at: string; readonly seconds?: boolean }) => (
  <time dateTime={at} title={at}>
    {formatTime(at, now.value, { seconds })}
  </time>
);

/** How long ago, or how long until. */
export const Age = ({ at, words = true }: { readonly at: string; readonly words?: boolean }) => {
  const age = now.value - Date.parse(at);
  // The store's clock is known to some milliseconds only, so a time less than a second away counts as now.
  const isNow = Math.abs(age) < 1_000;
  const later = isNow ? "now" : age < 0 ? `in ${formatAge(-age)}` : `${formatAge(age)} ago`;
  const text = words || (age < 0 && !isNow) ? later : formatAge(age);
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  );
};
