import { useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { RecurringJob, RecurringPage as Listing } from "../../../src/answers/jobs.ts";
import { Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Age, Time } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { ConfirmPanel } from "../parts/panel.tsx";
import { Top } from "../parts/shell.tsx";
import { SortHead, sortRows } from "../parts/sort.tsx";
import { usePolled } from "../state/api.ts";
import { formatCount, formatDuration, shortId } from "../state/format.ts";
import { changeQuery, jobPath, jobsPath, place, withQuery } from "../state/router.ts";
import { may } from "../state/session.ts";
import { EditRecurringPanel } from "./recurring/edit.tsx";

type RecurringVerb = "pause" | "resume" | "trigger";

const verbs: Readonly<Record<RecurringVerb, { readonly title: string; readonly done: string }>> = {
  pause: { title: "Pause", done: "paused" },
  resume: { title: "Resume", done: "resumed" },
  trigger: { title: "Run now:", done: "asked to run" },
};

/** What happens when it runs while the one before is not finished, by its policy. */
const overlaps: Readonly<Record<string, string>> = {
  allow: "It starts whether the one before has finished or not.",
  skip: "If the one before has not finished, nothing is started.",
  queue_one: "If the one before has not finished, it starts after that.",
  replace: "If the one before has not finished, that one is cancelled.",
};

const explain = (verb: RecurringVerb, { job, overlap }: RecurringJob): string => {
  if (verb === "pause") return "It starts no more jobs until it is resumed. Jobs that it has started finish.";
  if (verb === "resume")
    return "It continues with its next time. Times that passed while it was paused are not made up for.";
  return `A job of type ${job.typeName} is started now. Its regular times stay as they are. ${overlaps[overlap] ?? ""}`;
};

interface Trigger {
  readonly result: string;
  readonly sequenceId: string | null;
}

/** What a run that was asked for has led to, with its job. */
const Triggered = ({ result, sequenceId }: Trigger) => (
  <p class="big">
    {result === "started"
      ? "It was started: "
      : result === "skipped"
        ? "Nothing was started, because the one before has not finished: "
        : "It begins when the run before has finished. "}
    {sequenceId !== null && (
      <Link class="link mono" to={jobPath(sequenceId)}>
        {shortId(sequenceId)}
      </Link>
    )}
  </p>
);

const RecurringPanel = ({
  recurring,
  verb,
  onClose,
  onDone,
}: {
  readonly recurring: RecurringJob;
  readonly verb: RecurringVerb;
  onClose(): void;
  onDone(): void;
}) => {
  const { title, done } = verbs[verb];
  const deed = {
    title: `${title} ${recurring.id}`,
    path: `recurring/${toSegment(recurring.id)}/${verb}`,
    done: `${recurring.id}: ${done}.`,
  };
  return (
    <ConfirmPanel
      deed={deed}
      onClose={onClose}
      onDone={onDone}
      {...(verb === "trigger" && { after: (answer) => <Triggered {...(answer as Trigger)} /> })}
    >
      <p class="big">{explain(verb, recurring)}</p>
    </ConfirmPanel>
  );
};

const tickIcons: Readonly<Record<string, IconName>> = {
  started: "completed",
  caught_up: "waiting",
  skipped: "skipped",
  dropped: "failed",
};

/** The results of the latest runs, the oldest first. */
const Recent = ({ recent }: Pick<RecurringJob, "recent">) => (
  <span class="ticks">
    {recent
      .slice(0, 6)
      .reverse()
      .map(({ nominalAt, at, result, sequenceId }) => {
        const words = `${result.replaceAll("_", " ")} ${nominalAt}`;
        const icon = <Icon name={tickIcons[result] ?? "pending"} />;
        return sequenceId === null ? (
          <span key={at} class={`tick ${result}`} role="img" aria-label={words} title={words}>
            {icon}
          </span>
        ) : (
          <Link key={at} class={`tick ${result}`} to={jobPath(sequenceId)} aria-label={words} title={words}>
            {icon}
          </Link>
        );
      })}
  </span>
);

const countStarted = (counts: RecurringJob["counts"]): number =>
  (counts["started"] ?? 0) + (counts["caught_up"] ?? 0);

const countMissed = (counts: RecurringJob["counts"]): number =>
  (counts["skipped"] ?? 0) + (counts["dropped"] ?? 0);

const sortable: Readonly<Record<string, (recurring: RecurringJob) => string | number | null>> = {
  id: ({ id }) => id,
  next: ({ nextAt }) => nextAt,
  started: ({ counts }) => countStarted(counts),
  missed: ({ counts }) => countMissed(counts),
};

const Row = ({
  recurring,
  onAct,
}: {
  readonly recurring: RecurringJob;
  onAct(verb: RecurringVerb | "edit"): void;
}) => {
  const { id, cron, everyMs, timeZone, job, paused, nextAt, counts } = recurring;
  return (
    <tr data-row="">
      <td>
        <Link class="strong" to={jobsPath({ recurringJobId: id })}>
          {id}
        </Link>
        <span class="line dim">{job.typeName}</span>
      </td>
      <td>
        {cron === null ? `every ${formatDuration(everyMs ?? 0)}` : <code>{cron}</code>}{" "}
        {cron !== null && <span class="dim small">{timeZone}</span>}
      </td>
      <td>
        {paused ? (
          <span class="tag new">paused</span>
        ) : nextAt === null ? (
          <span class="dim">ended</span>
        ) : (
          <>
            <Age at={nextAt} />
            <span class="line dim">
              <Time at={nextAt} seconds={false} />
            </span>
          </>
        )}
      </td>
      <td>
        <Recent recent={recurring.recent} />
      </td>
      <td class="number">{formatCount(countStarted(counts))}</td>
      <td class="number">{formatCount(countMissed(counts))}</td>
      {may("limits") && (
        <td>
          <span class="row">
            <button type="button" class="button small" onClick={() => onAct(paused ? "resume" : "pause")}>
              {paused ? "Resume…" : "Pause…"}
            </button>
            <button type="button" class="button small" onClick={() => onAct("trigger")}>
              Run now…
            </button>
            <button type="button" class="button small" onClick={() => onAct("edit")}>
              Edit…
            </button>
          </span>
        </td>
      )}
    </tr>
  );
};

export const RecurringPage = () => {
  const cursor = place.value.query.get("cursor") ?? undefined;
  const { data, error, reload } = usePolled<Listing>(withQuery("recurring", { cursor }));
  const [chosen, setChosen] = useState<{ readonly id: string; readonly verb: RecurringVerb | "edit" }>();
  const subject = data?.recurringJobs.find(({ id }) => id === chosen?.id);
  return (
    <>
      <Top title="Recurring jobs" />
      {error !== undefined && <Problem error={error} />}
      <div class={subject === undefined ? "columns" : "columns with-plan"}>
        <section class="card" aria-label="Recurring jobs">
          {data === undefined && error === undefined && <Skeleton />}
          {data?.recurringJobs.length === 0 && (
            <Empty icon="recurring" title="There are no recurring jobs.">
              Name them in <code>recurringJobs</code> of <code>createLeasehold</code>, or call{" "}
              <code>recurring.put</code>.
            </Empty>
          )}
          {data !== undefined && data.recurringJobs.length > 0 && (
            <Scroll label="Recurring jobs">
              <table>
                <thead>
                  <tr>
                    <SortHead name="id">Id and type</SortHead>
                    <th>When</th>
                    <SortHead name="next">Next</SortHead>
                    <th>Latest</th>
                    <SortHead name="started" number>
                      Started
                    </SortHead>
                    <SortHead name="missed" number>
                      Left out
                    </SortHead>
                    {may("limits") && <th>Actions</th>}
                  </tr>
                </thead>
                <tbody>
                  {sortRows(data.recurringJobs, sortable).map((recurring) => (
                    <Row
                      key={recurring.id}
                      recurring={recurring}
                      onAct={(verb) => setChosen({ id: recurring.id, verb })}
                    />
                  ))}
                </tbody>
              </table>
            </Scroll>
          )}
          {data?.cursor != null && (
            <div class="bar bottom">
              <button
                type="button"
                class="button side"
                onClick={() => changeQuery({ cursor: data.cursor ?? undefined })}
              >
                More
              </button>
            </div>
          )}
        </section>
        {subject !== undefined && chosen?.verb === "edit" && (
          <EditRecurringPanel
            key={chosen.id}
            recurring={subject}
            onClose={() => setChosen(undefined)}
            onDone={reload}
          />
        )}
        {subject !== undefined && chosen !== undefined && chosen.verb !== "edit" && (
          <RecurringPanel
            key={`${chosen.verb} ${chosen.id}`}
            recurring={subject}
            verb={chosen.verb}
            onClose={() => setChosen(undefined)}
            onDone={reload}
          />
        )}
      </div>
    </>
  );
};
