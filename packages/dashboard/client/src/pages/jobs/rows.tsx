import type { JobRow } from "../../answers.ts";
import { formatDuration, formatReason, shortId } from "../../format.ts";
import { Scroll } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { showText } from "../../parts/payload-view.tsx";
import { JobState } from "../../parts/state-mark.tsx";
import { Age } from "../../parts/time.tsx";
import { now } from "../../state/clock.ts";
import { jobPath, jobsPath } from "../../state/router.ts";

/** What is worth saying about a job in one cell. */
const Note = ({ job }: { readonly job: JobRow }) => {
  if (job.status === "failed")
    return (
      <>
        {job.failureReason !== null && <span class="tag">{formatReason(job.failureReason)}</span>}{" "}
        {job.error !== null && `${job.error.name}: ${showText(job.error.message)}`}
      </>
    );
  if (job.status === "running") return <>on {job.leasedBy}</>;
  if (job.status === "pending" && job.attempt > 0 && job.error !== null)
    return (
      <>
        after {job.error.name}: {showText(job.error.message)}
      </>
    );
  if (job.status === "pending" && Date.parse(job.scheduledAt) > now.value)
    return (
      <>
        due <Age at={job.scheduledAt} />
      </>
    );
  return <>{job.deduplicationKey ?? job.group ?? ""}</>;
};

const Ran = ({ job }: { readonly job: JobRow }) => {
  if (job.startedAt === null || job.status === "pending" || job.status === "blocked")
    return <span class="dim">–</span>;
  if (job.status === "running") return <Age at={job.startedAt} words={false} />;
  return (
    <>{job.endedAt === null ? "–" : formatDuration(Date.parse(job.endedAt) - Date.parse(job.startedAt))}</>
  );
};

export const Rows = ({
  jobs,
  selected,
  onSelect,
}: {
  readonly jobs: readonly JobRow[];
  readonly selected: ReadonlySet<string>;
  onSelect(ids: readonly string[], isOn: boolean): void;
}) => (
  <Scroll label="Jobs">
    <table class="jobs">
      <thead>
        <tr>
          <th class="pick">
            <input
              type="checkbox"
              aria-label="Select all on this page"
              checked={jobs.length > 0 && jobs.every(({ id }) => selected.has(id))}
              onChange={(event) =>
                onSelect(
                  jobs.map(({ id }) => id),
                  event.currentTarget.checked,
                )
              }
            />
          </th>
          <th>Type</th>
          <th>State</th>
          <th>Queue</th>
          <th class="number">Attempt</th>
          <th class="number">Ran</th>
          <th class="number">Created</th>
          <th class="wide">Note</th>
          <th>Id</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id} data-row="" class={selected.has(job.id) ? "on" : ""}>
            <td class="pick">
              <input
                type="checkbox"
                aria-label={`Select ${job.typeName} ${job.id}`}
                checked={selected.has(job.id)}
                onChange={(event) => onSelect([job.id], event.currentTarget.checked)}
              />
            </td>
            <td>
              <Link class="strong" to={jobPath(job.id)}>
                {job.typeName}
              </Link>
            </td>
            <td>
              <JobState job={job} />
            </td>
            <td>
              <Link to={jobsPath({ queue: job.queue })}>{job.queue}</Link>
            </td>
            <td class="number">{job.attempt}</td>
            <td class="number">
              <Ran job={job} />
            </td>
            <td class="number">
              <Age at={job.createdAt} />
            </td>
            <td class="wide dim">
              <Note job={job} />
            </td>
            <td class="mono dim" title={job.id}>
              {shortId(job.id)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
);
