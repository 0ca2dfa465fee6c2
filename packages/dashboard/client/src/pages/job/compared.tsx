import type { JobRow, Statistics } from "../../answers.ts";
import { formatDuration, formatShare } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { usePolled } from "../../state/poll.ts";

/** Whether this job is like the others of its type. */
export const Compared = ({ job }: { readonly job: JobRow }) => {
  const { data } = usePolled<Statistics>("statistics?minutes=1440", 60_000);
  const numbers = data?.types.find(({ queue, typeName }) => queue === job.queue && typeName === job.typeName);
  if (numbers === undefined) return null;
  const ended = numbers.completed + numbers.failed;
  const ran =
    job.startedAt === null || job.endedAt === null
      ? undefined
      : Date.parse(job.endedAt) - Date.parse(job.startedAt);
  const duration = (ms: number | null): string => (ms === null ? "–" : formatDuration(ms));
  if (ended === 0) return null;
  return (
    <Card title="Compared with its type" note="24 h, estimates">
      <dl class="facts">
        <dt>Completed</dt>
        <dd>{formatShare(numbers.completed, ended)}</dd>
        <dt>Waits, p50</dt>
        <dd>{duration(numbers.startP50)}</dd>
        <dt>Waits, p95</dt>
        <dd>{duration(numbers.startP95)}</dd>
        <dt>Runs, p50</dt>
        <dd>{duration(numbers.runP50)}</dd>
        <dt>Runs, p95</dt>
        <dd>{duration(numbers.runP95)}</dd>
        {ran !== undefined && (
          <>
            <dt>This job ran</dt>
            <dd class={numbers.runP95 !== null && ran > 2 * numbers.runP95 ? "bad" : ""}>
              {formatDuration(ran)}
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
};
