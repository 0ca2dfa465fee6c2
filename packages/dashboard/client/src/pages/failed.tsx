import { useState } from "preact/hooks";
import type { ActionKind } from "../../../src/answers/jobs.ts";
import type { Cause, Causes, TypeBacklog } from "../../../src/answers/numbers.ts";
import { PlanPanel } from "../parts/action-panel.tsx";
import { Empty, Problem, Skeleton } from "../parts/card.tsx";
import { Spark } from "../parts/figures.tsx";
import { Age, StateMark } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { showText } from "../parts/payload.tsx";
import { Segments, Top } from "../parts/shell.tsx";
import { type Choice, type Filter, kinds } from "../state/action.ts";
import { usePolled } from "../state/api.ts";
import { formatCapped, formatCount, formatReason, plural } from "../state/format.ts";
import { countWaiting } from "../state/queue-rows.ts";
import { changeQuery, jobPath, jobsPath, place } from "../state/router.ts";
import { backlog, may, offers } from "../state/session.ts";
import { now } from "../state/settings.ts";

interface Chosen {
  readonly kind: ActionKind;
  readonly choice: Choice;
  readonly title: string;
  /** The group of the list. */
  readonly key: string;
}

const GroupActions = ({ choose }: { choose(kind: ActionKind): void }) => (
  <div class="row">
    {(["redrive", "delete"] as const)
      .filter((kind) => may(kinds[kind].needs))
      .map((kind) => (
        <button
          key={kind}
          type="button"
          class={`button small ${kinds[kind].isDangerous ? "quiet danger" : ""}`}
          {...(kind === "redrive" && { "data-plan": "" })}
          onClick={() => choose(kind)}
        >
          {kinds[kind].name}…
        </button>
      ))}
  </div>
);

/** Reasons that come without an error, so that all jobs that failed for them have the same cause. */
const reasonsWithoutError = new Set([
  "blocker_failed",
  "cancelled",
  "expired",
  "no_handler",
  "invalid_input",
]);

/** The failed jobs of a cause; undefined where a filter would find others, too. */
const choiceOf = ({ fingerprint, types, reasons }: Cause): { readonly filter: Filter } | undefined => {
  if (fingerprint !== null) return { filter: { fingerprint: [fingerprint] } };
  if (!reasons.every((reason) => reasonsWithoutError.has(reason))) return undefined;
  const distinct = (names: readonly string[]): string[] => [...new Set(names)];
  return {
    filter: {
      queue: distinct(types.map(({ queue }) => queue)),
      typeName: distinct(types.map(({ typeName }) => typeName)),
      failureReason: reasons,
    },
  };
};

const dayMs = 24 * 3_600_000;

const isNew = ({ firstSeenAt }: Cause): boolean =>
  firstSeenAt !== null && now.value - Date.parse(firstSeenAt) < dayMs;

const nameOf = ({ name, reasons }: Cause): string =>
  name === null ? reasons.map(formatReason).join(", ") : showText(name);

/** The last day by hours, as a line and in words. */
const Trend = ({ counts }: { readonly counts: readonly number[] }) => {
  const sum = (from: number, before?: number): number =>
    counts.slice(from, before).reduce((all, count) => all + count, 0);
  const lastDay = sum(0);
  if (lastDay === 0) return <span class="small dim">none in 24 h</span>;
  const words = `${plural(lastDay, "failure")} in 24 hours, ${formatCount(sum(-1))} of them in this hour`;
  return (
    <span title={words}>
      <span class="unseen">{words}</span>
      <Spark values={counts} />
    </span>
  );
};

const CauseRow = ({
  cause,
  isOn,
  choose,
}: {
  readonly cause: Cause;
  readonly isOn: boolean;
  choose(kind: ActionKind): void;
}) => {
  const filter = choiceOf(cause)?.filter ?? { typeName: cause.types.map(({ typeName }) => typeName) };
  const message = showText(cause.message);
  return (
    <article class={`group ${isOn ? "on" : ""}`} data-row="">
      <div class="what">
        <div class="name">
          <Link to={jobsPath({ status: "failed", ...filter })}>{nameOf(cause)}</Link>
          {cause.name !== null &&
            cause.reasons.map((reason) => (
              <span key={reason} class="tag">
                {formatReason(reason)}
              </span>
            ))}
          {cause.deployment !== null && (
            <span class={isNew(cause) ? "tag new" : "tag"}>
              {isNew(cause) ? "new in" : "since"} {cause.deployment}
            </span>
          )}
        </div>
        {message !== "" && <p class="message">{message}</p>}
        <div class="meta">
          {cause.types.slice(0, 3).map(({ queue, typeName, count }) => (
            <span key={`${queue} ${typeName}`}>
              <b>{typeName}</b> {cause.types.length > 1 && formatCount(count)}
            </span>
          ))}
          {cause.types.length > 3 && <span>and {plural(cause.types.length - 3, "other type")}</span>}
          {cause.frame !== null && <span class="mono">{showText(cause.frame)}</span>}
          <span>
            first <Age at={cause.firstSeenAt ?? cause.firstFailedAt} />
          </span>
          <Link class="link" to={jobPath(cause.exampleId)}>
            Latest job
          </Link>
        </div>
      </div>
      <div class="amount">
        <b>{formatCount(cause.count)}</b>
        <span class="small dim">
          last <Age at={cause.lastFailedAt} />
        </span>
        <Trend counts={cause.trend} />
      </div>
      {choiceOf(cause) === undefined ? <span /> : <GroupActions choose={choose} />}
    </article>
  );
};

const TypeRow = ({
  type,
  cap,
  isOn,
  choose,
}: {
  readonly type: TypeBacklog;
  readonly cap: number;
  readonly isOn: boolean;
  choose(kind: ActionKind): void;
}) => (
  <article class={`group ${isOn ? "on" : ""}`} data-row="">
    <div class="what">
      <div class="name">
        <StateMark status="failed" words="" />
        <Link to={jobsPath({ status: "failed", queue: type.queue, typeName: type.typeName })}>
          {type.typeName}
        </Link>
      </div>
      <div class="meta">
        <span>queue {type.queue}</span>
        {countWaiting(type) > 0 && <span>{plural(countWaiting(type), "other")} waiting</span>}
      </div>
    </div>
    <div class="amount">
      <b>{formatCapped(type.failed, cap)}</b>
      <span class="small dim">failed</span>
    </div>
    <GroupActions choose={choose} />
  </article>
);

export const FailedPage = () => {
  const { data, error, reload } = usePolled<Causes>(offers("history") ? "causes" : null);
  const [chosen, setChosen] = useState<Chosen>();
  const hasCauses = offers("history");
  const view = hasCauses && place.value.query.get("by") !== "type" ? "cause" : "type";
  const types = [...(backlog.value?.types ?? [])]
    .filter(({ failed }) => failed > 0)
    .sort((a, b) => b.failed - a.failed);
  const isEmpty =
    view === "cause" ? data?.causes.length === 0 : backlog.value !== undefined && types.length === 0;
  const isLoading =
    view === "cause" ? data === undefined && error === undefined : backlog.value === undefined;
  return (
    <>
      <Top title="Failed" />
      <div class="filters">
        {hasCauses && (
          <Segments
            label="Grouped"
            options={[
              ["cause", "By cause"],
              ["type", "By type"],
            ]}
            value={view}
            onChange={(by) => {
              setChosen(undefined);
              changeQuery({ by: by === "cause" ? undefined : by });
            }}
          />
        )}
        <Link class="link small" to={jobsPath({ status: "failed" })}>
          All failed jobs
        </Link>
        <span class="small dim side">
          {view === "cause" && data !== undefined
            ? `${plural(data.causes.length, "cause")} · ${plural(
                data.causes.reduce((sum, { count }) => sum + count, 0),
                "job",
              )}${data.isComplete ? "" : " among those looked at"}`
            : plural(types.length, "type")}
        </span>
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class={chosen === undefined ? "columns" : "columns with-plan"}>
        <section class="card" aria-label={view === "cause" ? "Causes" : "Types with failed jobs"}>
          {isLoading && <Skeleton rows={6} />}
          {isEmpty && (
            <Empty title="Nothing has failed.">
              Jobs that run out of attempts, or cannot succeed, appear here, grouped by what went wrong.
            </Empty>
          )}
          {view === "cause"
            ? data?.causes.map((cause) => {
                const key = cause.fingerprint ?? `${cause.reasons.join()} ${cause.exampleId}`;
                const choice = choiceOf(cause);
                return (
                  <CauseRow
                    key={key}
                    cause={cause}
                    isOn={(chosen?.key ?? place.value.query.get("cause")) === key}
                    choose={(kind) =>
                      choice !== undefined && setChosen({ kind, choice, title: nameOf(cause), key })
                    }
                  />
                );
              })
            : types.map((type) => {
                const key = `${type.queue} ${type.typeName}`;
                const choice = { filter: { queue: [type.queue], typeName: [type.typeName] } };
                return (
                  <TypeRow
                    key={key}
                    type={type}
                    cap={backlog.value?.cap ?? Infinity}
                    isOn={chosen?.key === key}
                    choose={(kind) => setChosen({ kind, choice, title: type.typeName, key })}
                  />
                );
              })}
        </section>
        {chosen !== undefined && (
          <PlanPanel
            kind={chosen.kind}
            choice={chosen.choice}
            title={chosen.title}
            onClose={() => setChosen(undefined)}
            onDone={reload}
          />
        )}
      </div>
    </>
  );
};
