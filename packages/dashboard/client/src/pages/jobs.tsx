import { useEffect, useMemo, useState } from "preact/hooks";
import type { ActionKind, JobPage as Page } from "../../../src/answers/jobs.ts";
import { PlanPanel } from "../parts/action-panel.tsx";
import { Empty, Problem, Skeleton } from "../parts/card.tsx";
import { Top } from "../parts/shell.tsx";
import {
  type Choice,
  choiceOf,
  filterOf,
  kindNames,
  kinds,
  planFilterOf,
  statusesFor,
} from "../state/action.ts";
import { usePolled } from "../state/api.ts";
import { formatCount, plural } from "../state/format.ts";
import { place, withQuery } from "../state/router.ts";
import { may } from "../state/session.ts";
import { Filters } from "./jobs/filters.tsx";
import { StartPanel } from "./jobs/start.tsx";
import { pageSizes, Paging, Rows, useStillRows } from "./jobs/rows.tsx";

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
  const inputContains = query.get("inputContains") ?? undefined;
  const due = query.get("due") ?? undefined;
  const path = withQuery("jobs", {
    ...filter,
    due,
    inputContains,
    status: statusFilter,
    order,
    limit,
    cursor,
  });
  // A search in inputs is too much work to be repeated every few seconds.
  const { data, error, reload } = usePolled<Page>(path, inputContains === undefined ? undefined : 600_000);
  const { jobs, cursor: next, searchedTo, fresh, showFresh } = useStillRows(data, path);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<Chosen | "start">();

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
  // What a search in inputs finds can be selected, but is no filter that a plan takes.
  const forAll =
    inputContains === undefined ? offered.filter((kind) => statusesFor(kind, statusFilter).length > 0) : [];
  const isFiltered =
    Object.keys(filter).length > 0 ||
    statusFilter.length > 0 ||
    due !== undefined ||
    inputContains !== undefined;
  const isOpen = jobs?.length === 0 && next !== null;

  return (
    <>
      <Top title="Jobs">
        {may("start") && (
          <button type="button" class="button small" onClick={() => setChosen("start")}>
            Start a job…
          </button>
        )}
      </Top>
      <Filters chosen={statusFilter} isFiltered={isFiltered} />
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
                        onClick={() =>
                          setChosen({
                            kind,
                            choice: choiceOf(kind, planFilterOf(query), statusesFor(kind, statusFilter)),
                            title: "all that match",
                          })
                        }
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
            (isOpen ? (
              <Empty icon="find" title="Nothing so far.">
                Not all jobs have been searched: continue, or add a filter.
              </Empty>
            ) : isFiltered ? (
              <Empty icon="find" title="No job matches these filters.">
                Take one away, or look further back. Jobs that have been pruned or deleted are not found any
                more.
              </Empty>
            ) : (
              <Empty icon="jobs" title="There are no jobs yet.">
                Call <code>leasehold.startJobSequence</code> in your program; the job appears here within five
                seconds.
              </Empty>
            ))}
          <Paging
            limit={limit}
            order={order}
            cursor={cursor}
            next={next}
            searchedTo={jobs !== undefined && jobs.length < Number(limit) ? searchedTo : null}
          />
        </section>
        {chosen === "start" && <StartPanel onClose={() => setChosen(undefined)} onDone={reload} />}
        {chosen !== undefined && chosen !== "start" && (
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
