import { useEffect, useState } from "preact/hooks";
import type { JobPage as Page, JobRow } from "../../../../src/answers/jobs.ts";
import { Scroll } from "../../parts/card.tsx";
import { Age, JobState, Time } from "../../parts/job-state.tsx";
import { Link } from "../../parts/link.tsx";
import { showText } from "../../parts/payload.tsx";
import { formatDuration, formatReason, shortId } from "../../state/format.ts";
import { changeQuery, jobPath, jobsPath } from "../../state/router.ts";
import { now } from "../../state/settings.ts";

export const pageSizes = ["50", "100", "200"] as const;

/** How many, in which order, and the next page. */
export const Paging = ({
  limit,
  order,
  cursor,
  next,
  searchedTo,
}: {
  readonly limit: string;
  readonly order: string | undefined;
  readonly cursor: string | undefined;
  readonly next: string | null;
  /** How far a search went that ended before the page was full. */
  readonly searchedTo: string | null;
}) => (
  <div class="bar bottom">
    <label class="filter">
      Rows
      <select
        value={limit}
        onChange={(event) => changeQuery({ limit: event.currentTarget.value, cursor: undefined })}
      >
        {pageSizes.map((size) => (
          <option key={size} value={size}>
            {size}
          </option>
        ))}
      </select>
    </label>
    <label class="filter">
      Order
      <select
        value={order ?? ""}
        onChange={(event) => changeQuery({ order: event.currentTarget.value, cursor: undefined })}
      >
        <option value="">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
    </label>
    <span class="row side">
      {searchedTo !== null && (
        <span class="small dim">
          looked {order === undefined ? "back" : "on"} to <Time at={searchedTo} />
        </span>
      )}
      {cursor !== undefined && (
        <button type="button" class="button" onClick={() => changeQuery({ cursor: undefined })}>
          First page
        </button>
      )}
      {next !== null && (
        <button type="button" class="button" onClick={() => changeQuery({ cursor: next })}>
          {searchedTo === null ? "Next page" : "Search further"}
        </button>
      )}
    </span>
  </div>
);

/** What is worth saying about a job in one cell. */
const Note = ({ job }: { readonly job: JobRow }) => {
  if (job.status === "failed")
    return (
      <>
        {job.failureReason !== null && <span class="tag">{formatReason(job.failureReason)}</span>}{" "}
        {job.error !== null && `${showText(job.error.name)}: ${showText(job.error.message)}`}
      </>
    );
  if (job.status === "running") return <>on {job.leasedBy}</>;
  if (job.status === "pending" && job.attempt > 0 && job.error !== null)
    return (
      <>
        after {showText(job.error.name)}: {showText(job.error.message)}
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
          <th class="wide">Input and note</th>
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
              <div>
                {job.inputLine !== null && (
                  <span class="line mono" title={job.inputLine}>
                    {job.inputLine}
                  </span>
                )}
                <span class="line">
                  <Note job={job} />
                </span>
              </div>
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

/** Rows stay in place: changed jobs are updated, new jobs are only counted. */
export const useStillRows = (page: Page | undefined, path: string) => {
  const [shown, setShown] = useState<{ path: string; page: Page }>();
  useEffect(() => {
    if (page !== undefined && shown?.path !== path) setShown({ path, page });
  }, [page, path]);
  const held = shown?.path === path ? shown.page : undefined;
  const latest = new Map(page?.jobs.map((job) => [job.id, job]));
  const known = new Set(held?.jobs.map(({ id }) => id));
  return {
    jobs: held?.jobs.map((job) => latest.get(job.id) ?? job),
    cursor: held?.cursor ?? null,
    searchedTo: held?.searchedTo ?? null,
    fresh: held === undefined ? 0 : (page?.jobs.filter(({ id }) => !known.has(id)).length ?? 0),
    showFresh: () => page !== undefined && setShown({ path, page }),
  };
};
