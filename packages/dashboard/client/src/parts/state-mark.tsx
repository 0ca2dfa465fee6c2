import type { JobRow, Status } from "../answers.ts";
import { now } from "../state/clock.ts";
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

/** With what a person wants to know beside the state: whether it is tried again, or waits for its time. */
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
