import { useEffect, useMemo, useState } from "preact/hooks";
import type { ActionKind, JobPage as Page, JobRow, Status } from "../answers.ts";
import { failureReasons, formatCount, formatDuration, formatReason, plural, shortId } from "../format.ts";
import { Scroll } from "../parts/card.tsx";
import { Icon } from "../parts/icon.tsx";
import { Link } from "../parts/link.tsx";
import { Empty, Problem, Skeleton } from "../parts/notice.tsx";
import { showText } from "../parts/payload-view.tsx";
import { PlanPanel } from "../parts/plan-panel.tsx";
import { Top } from "../parts/shell.tsx";
import { JobState } from "../parts/state-mark.tsx";
import { Age } from "../parts/time.tsx";
import { now } from "../state/clock.ts";
import { filterOf, ranges } from "../state/job-query.ts";
import { type Choice, fitsFilter, kindNames, kinds } from "../state/plan.ts";
import { usePolled } from "../state/poll.ts";
import { changeQuery, jobPath, jobsPath, place, withQuery } from "../state/router.ts";
import { knownQueues, knownTypes, may } from "../state/session.ts";

const statuses: readonly Status[] = ["blocked", "pending", "running", "completed", "failed"];
const pageSizes = ["50", "100", "200"] as const;

const StatusFilter = ({ chosen }: { readonly chosen: readonly string[] }) => (
  <span class="segments" role="group" aria-label="Status">
    <button
      type="button"
      aria-pressed={chosen.length === 0}
      onClick={() => changeQuery({ status: undefined, cursor: undefined })}
    >
      All
    </button>
    {statuses.map((status) => {
      const isOn = chosen.includes(status);
      const next = isOn ? chosen.filter((other) => other !== status) : [...chosen, status];
      return (
        <button
          key={status}
          type="button"
          class={status}
          aria-pressed={isOn}
          onClick={() => changeQuery({ status: next, cursor: undefined })}
        >
          <Icon name={status} />
          {status}
        </button>
      );
    })}
  </span>
);

/** A text that is part of the filter, once it is complete. */
const TextFilter = ({
  name,
  label,
  known = [],
}: {
  readonly name: string;
  readonly label: string;
  readonly known?: readonly string[];
}) => {
  const value = place.value.query.getAll(name).join(", ");
  return (
    <label class="filter">
      {label}
      <input
        type="text"
        key={value}
        defaultValue={value}
        placeholder="any"
        autocomplete="off"
        spellcheck={false}
        size={Math.max(8, Math.min(24, value.length + 2))}
        list={`known-${name}`}
        onChange={(event) => {
          const text = event.currentTarget.value.trim();
          changeQuery({ [name]: text === "" ? undefined : text, cursor: undefined });
        }}
      />
      <datalist id={`known-${name}`}>
        {known.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </label>
  );
};

const SelectFilter = ({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
}) => (
  <label class="filter">
    {label}
    <select
      value={place.value.query.get(name) ?? ""}
      onChange={(event) => changeQuery({ [name]: event.currentTarget.value, cursor: undefined })}
    >
      <option value="">any</option>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  </label>
);

/** Filters that come with links and have no field of their own. */
const Extras = () => {
  const names: Readonly<Record<string, string>> = {
    rootSequenceId: "tree",
    fingerprint: "cause",
    leasedBy: "worker",
    sequenceTypeName: "sequence",
    createdFrom: "created from",
    createdBefore: "created before",
    finishedFrom: "finished from",
    finishedBefore: "finished before",
  };
  const { query } = place.value;
  return (
    <>
      {Object.entries(names).map(([name, words]) => {
        const value = query.get(name);
        return (
          value !== null && (
            <button
              key={name}
              type="button"
              class="filter chip"
              aria-label={`Remove the filter: ${words} ${value}`}
              onClick={() => changeQuery({ [name]: undefined, cursor: undefined })}
            >
              {words} <b class="mono">{shortId(value)}</b>
              <Icon name="close" />
            </button>
          )
        );
      })}
    </>
  );
};

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

const Rows = ({
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

/** The rows stay where they are: those that come in are counted, those that change are changed in place. */
const useStillRows = (page: Page | undefined, path: string) => {
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
    fresh: held === undefined ? 0 : (page?.jobs.filter(({ id }) => !known.has(id)).length ?? 0),
    showFresh: () => page !== undefined && setShown({ path, page }),
  };
};

interface Chosen {
  readonly kind: ActionKind;
  readonly choice: Choice;
  readonly title: string;
}

export const JobsPage = () => {
  const { query } = place.value;
  const statusFilter = query.getAll("status");
  const address = query.toString();
  const limit = pageSizes.find((size) => size === query.get("limit")) ?? pageSizes[0];
  const filter = useMemo(() => filterOf(query), [address]);
  const cursor = query.get("cursor") ?? undefined;
  const order = query.get("order") === "oldest" ? "oldest" : undefined;
  const path = withQuery("jobs", { ...filter, status: statusFilter, order, limit, cursor });
  const { data, error, reload } = usePolled<Page>(path);
  const { jobs, cursor: next, fresh, showFresh } = useStillRows(data, path);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<Chosen>();

  useEffect(() => setSelected(new Set()), [address]);

  const select = (ids: readonly string[], isOn: boolean): void => {
    const all = new Set(selected);
    for (const id of ids) {
      if (isOn) all.add(id);
      else all.delete(id);
    }
    setSelected(all);
  };

  const offered = kindNames.filter((kind) => may(kinds[kind].needs));
  const some = jobs?.filter(({ id }) => selected.has(id)) ?? [];
  const forSelected = offered.filter((kind) => some.some(({ status }) => kinds[kind].of.includes(status)));
  const forAll = offered.filter((kind) => fitsFilter(kind, statusFilter));
  const isFiltered = Object.keys(filter).length > 0 || statusFilter.length > 0;

  return (
    <>
      <Top title="Jobs" />
      <div class="filters">
        <StatusFilter chosen={statusFilter} />
        <TextFilter name="queue" label="Queue" known={knownQueues.value} />
        <TextFilter name="typeName" label="Type" known={knownTypes.value} />
        {may("payloads") && <TextFilter name="deduplicationKey" label="Key" />}
        {(statusFilter.length === 0 || statusFilter.includes("failed")) && (
          <SelectFilter
            name="failureReason"
            label="Reason"
            options={failureReasons.map((reason) => [reason, formatReason(reason)])}
          />
        )}
        <SelectFilter name="since" label="Created" options={ranges.map(([key, words]) => [key, words])} />
        <Extras />
        {isFiltered && (
          <Link class="link small" to="/jobs">
            Clear
          </Link>
        )}
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class={chosen === undefined ? "columns" : "columns with-plan"}>
        <section class="card" aria-label="Jobs">
          <div class="bar">
            {selected.size > 0 ? (
              <>
                <b>{plural(selected.size, "job")} selected</b>
                {forSelected.map((kind, index) => (
                  <button
                    key={kind}
                    type="button"
                    class={`button small ${kinds[kind].isDangerous ? "danger" : ""}`}
                    {...(index === 0 && { "data-plan": "" })}
                    onClick={() =>
                      setChosen({ kind, choice: { ids: [...selected] }, title: plural(selected.size, "job") })
                    }
                  >
                    {kinds[kind].name}…
                  </button>
                ))}
                <button type="button" class="button quiet small" onClick={() => setSelected(new Set())}>
                  Select none
                </button>
              </>
            ) : (
              <>
                <span class="dim">
                  {jobs === undefined
                    ? "…"
                    : cursor === undefined
                      ? `${order === undefined ? "Newest" : "Oldest"} ${formatCount(jobs.length)}`
                      : `${formatCount(jobs.length)} more`}
                </span>
                {fresh > 0 && (
                  <button type="button" class="button small fresh" onClick={showFresh}>
                    {formatCount(fresh)}
                    {data !== undefined && fresh === data.jobs.length ? "+" : ""} new
                  </button>
                )}
                {jobs !== undefined && jobs.length > 0 && forAll.length > 0 && (
                  <span class="row side">
                    <span class="dim small">All that match:</span>
                    {forAll.map((kind, index) => (
                      <button
                        key={kind}
                        type="button"
                        class={`button quiet small ${kinds[kind].isDangerous ? "danger" : ""}`}
                        {...(index === 0 && { "data-plan": "" })}
                        onClick={() => setChosen({ kind, choice: { filter }, title: "all that match" })}
                      >
                        {kinds[kind].name}…
                      </button>
                    ))}
                  </span>
                )}
              </>
            )}
          </div>
          {jobs === undefined && error === undefined && <Skeleton rows={12} />}
          {jobs !== undefined && jobs.length > 0 && (
            <Rows jobs={jobs} selected={selected} onSelect={select} />
          )}
          {jobs !== undefined &&
            jobs.length === 0 &&
            (isFiltered ? (
              <Empty icon="find" title="No job matches these filters.">
                Take one away, or look further back. Jobs that have been pruned or deleted are not found any
                more.
              </Empty>
            ) : (
              <Empty icon="jobs" title="There are no jobs yet.">
                Call <code>leasehold.start</code> in your program; the job appears here within five seconds.
              </Empty>
            ))}
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
              {cursor !== undefined && (
                <button type="button" class="button" onClick={() => changeQuery({ cursor: undefined })}>
                  First page
                </button>
              )}
              {next !== null && (
                <button type="button" class="button" onClick={() => changeQuery({ cursor: next })}>
                  Next page
                </button>
              )}
            </span>
          </div>
        </section>
        {chosen !== undefined && (
          <PlanPanel
            {...chosen}
            onClose={() => setChosen(undefined)}
            onDone={() => {
              setSelected(new Set());
              reload();
            }}
          />
        )}
      </div>
    </>
  );
};
