import { useState } from "preact/hooks";
import type { ActionKind, Attempt, Explanation, JobDetail, JobRow, Statistics } from "../answers.ts";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatFailure,
  formatReason,
  formatShare,
  formatTime,
  plural,
  shortId,
} from "../format.ts";
import { AttemptStrip, AttemptTable } from "../parts/attempts.tsx";
import { Card } from "../parts/card.tsx";
import { Command, CopyButton } from "../parts/copy-button.tsx";
import { ErrorView } from "../parts/error-view.tsx";
import { Icon } from "../parts/icon.tsx";
import { Link, OutsideLink } from "../parts/link.tsx";
import { Empty, Problem, Skeleton } from "../parts/notice.tsx";
import { PayloadView } from "../parts/payload-view.tsx";
import { PlanPanel } from "../parts/plan-panel.tsx";
import { Segments, Top } from "../parts/shell.tsx";
import { JobState, StateMark } from "../parts/state-mark.tsx";
import { Age, Time } from "../parts/time.tsx";
import { segment } from "../state/api.ts";
import { now } from "../state/clock.ts";
import { kinds } from "../state/plan.ts";
import { usePolled } from "../state/poll.ts";
import { changeQuery, jobPath, jobsPath, place, treePath } from "../state/router.ts";
import { backlog, may, offers } from "../state/session.ts";

const questions: Readonly<Record<JobRow["status"], string>> = {
  blocked: "Why is it not running?",
  pending: "Why is it not running?",
  running: "What is it doing?",
  completed: "How did it end?",
  failed: "Why did it fail?",
};

/** Moments in a sentence of the server, as a person reads them. */
const withTimes = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (iso) => formatTime(iso, now.value));

const until = (iso: string): string => {
  const left = Date.parse(iso) - now.value;
  return left > 0 ? `in ${formatAge(left)}` : "now";
};

/** The answer in a sentence: by what is known of the job, so that it says how long ago and how long still. */
const answer = ({ job, explanation, blockers }: JobDetail): string => {
  const { state, summary }: Explanation = explanation;
  switch (state) {
    case "scheduled":
      return `It is scheduled for ${formatTime(job.scheduledAt, now.value)}, ${until(job.scheduledAt)}.`;
    case "retrying":
      return `Attempt ${explanation.attempt} of ${explanation.maxAttempts} failed. It is tried again ${until(job.scheduledAt)}.`;
    case "running":
      return `Attempt ${job.attempt} has been running for ${formatAge(now.value - Date.parse(job.startedAt ?? job.createdAt))} on ${job.leasedBy}.`;
    case "completed":
      return `It completed ${formatAge(now.value - Date.parse(job.endedAt ?? job.createdAt))} ago, after ${plural(job.attempt, "attempt")}${explanation.summary?.includes("outside any worker") === true ? ", by a call from outside" : ""}.`;
    case "failed":
      return `It failed ${formatAge(now.value - Date.parse(job.endedAt ?? job.createdAt))} ago, after ${plural(job.attempt, "attempt")}: ${formatFailure(job.failureReason ?? "unknown")}.`;
    case undefined: {
      // Whoever may not see payloads gets no explanation: what is left says it all the same.
      const open = blockers.filter(({ status }) => status !== "completed").length;
      if (job.status === "blocked") return `It waits for ${plural(open, "blocker")}.`;
      return job.failureReason === null
        ? `It is ${job.status}, after ${plural(job.attempt, "attempt")}.`
        : `It failed: ${formatFailure(job.failureReason)}.`;
    }
    default:
      return withTimes(summary ?? "");
  }
};

/** More about it, as short notes below the answer. */
const Notes = ({ detail: { job, explanation } }: { readonly detail: JobDetail }) => {
  const others = backlog.value?.types.find(
    ({ queue, typeName }) => queue === job.queue && typeName === job.typeName,
  );
  return (
    <ul class="notes">
      {job.status === "pending" && (
        <li>
          <Icon name="clock" />
          <span>
            due <Time at={job.scheduledAt} />
          </span>
        </li>
      )}
      {explanation.aheadInQueue !== undefined && (
        <li>
          <Icon name="jobs" />
          {formatCount(explanation.aheadInQueue)} before it in queue {job.queue}
        </li>
      )}
      {explanation.estimatedStart != null && (
        <li>
          <Icon name="play" />
          <span>
            may start <Age at={explanation.estimatedStart} />
          </span>
        </li>
      )}
      {explanation.workers != null && (
        <li class={explanation.workers === 0 ? "warn" : ""}>
          <Icon name="workers" />
          {explanation.workers === 0
            ? "no live worker serves this queue and type"
            : `${plural(explanation.workers, "live worker")} ${explanation.workers === 1 ? "serves" : "serve"} this queue and type`}
        </li>
      )}
      {explanation.leasedUntil !== undefined && (
        <li>
          <Icon name="clock" />
          <span>
            lease until <Time at={explanation.leasedUntil} />, renewed while its worker lives
          </span>
        </li>
      )}
      {explanation.expiresAt != null && (
        <li class="warn">
          <Icon name="warning" />
          <span>
            expires <Age at={explanation.expiresAt} />
          </span>
        </li>
      )}
      {others !== undefined && others.failed > 0 && (
        <li class="failed">
          <Icon name="failed" />
          <Link to={jobsPath({ status: "failed", typeName: job.typeName, queue: job.queue })}>
            {plural(others.failed, "failed job")} of this type
          </Link>
        </li>
      )}
    </ul>
  );
};

const tabs = [
  ["input", "Input"],
  ["output", "Output"],
  ["progress", "Progress"],
] as const;

const Payloads = ({ job }: { readonly job: JobDetail["job"] }) => {
  const wanted = place.value.query.get("payload");
  const tab = tabs.find(([name]) => name === wanted)?.[0] ?? "input";
  const value = job[tab];
  return (
    <Card
      title="Payload"
      side={
        <>
          <Segments
            label="Payload"
            options={tabs}
            value={tab}
            onChange={(payload) => changeQuery({ payload }, { replace: true })}
          />
          <CopyButton text={JSON.stringify(value, null, 2)} label={`Copy the ${tab}`} />
        </>
      }
    >
      {value === null && tab !== "input" ? (
        <p class="dim">{tab === "output" ? "There is no output (yet)." : "It has reported no progress."}</p>
      ) : (
        <PayloadView value={value} label={tab} />
      )}
    </Card>
  );
};

const Sequence = ({ detail: { job, sequence } }: { readonly detail: JobDetail }) => (
  <Card
    title="Sequence"
    note={`${job.sequenceTypeName} · ${plural(sequence.length, "job")}`}
    side={
      <Link class="link small" to={treePath(job.rootSequenceId)}>
        Whole tree
      </Link>
    }
  >
    <ol class="steps">
      {sequence.map((step) => (
        <li key={step.id} aria-current={step.id === job.id ? "step" : undefined}>
          <JobState job={step} />
          <Link class="strong" to={jobPath(step.id)}>
            {step.typeName}
          </Link>
          <span class="small dim">
            {step.endedAt !== null && step.startedAt !== null
              ? formatDuration(Date.parse(step.endedAt) - Date.parse(step.startedAt))
              : step.id === job.id
                ? "this job"
                : ""}
          </span>
        </li>
      ))}
    </ol>
  </Card>
);

const Blockers = ({ blockers }: Pick<JobDetail, "blockers">) => (
  <Card
    title="Blockers"
    note={`${blockers.filter(({ status }) => status === "completed").length} of ${blockers.length} completed`}
  >
    <ul class="steps">
      {blockers.map(({ id, typeName, status }) => (
        <li key={id}>
          <StateMark status={status as JobRow["status"]} />
          <Link class="strong" to={jobPath(id)}>
            {typeName}
          </Link>
          <span class="mono dim">{shortId(id)}</span>
        </li>
      ))}
    </ul>
  </Card>
);

const Facts = ({ detail: { job, traceUrl } }: { readonly detail: JobDetail }) => (
  <Card title="Facts">
    <dl class="facts">
      <dt>Queue</dt>
      <dd>
        <Link class="link" to={jobsPath({ queue: job.queue })}>
          {job.queue}
        </Link>
      </dd>
      <dt>Priority</dt>
      <dd>{job.priority}</dd>
      <dt>Attempts</dt>
      <dd>{job.attempt}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={job.createdAt} />
        <br />
        <span class="dim">
          <Age at={job.createdAt} />
        </span>
      </dd>
      <dt>Due</dt>
      <dd>
        <Time at={job.scheduledAt} />
      </dd>
      {job.startedAt !== null && (
        <>
          <dt>Last attempt</dt>
          <dd>
            <Time at={job.startedAt} />
          </dd>
        </>
      )}
      {job.endedAt !== null && (
        <>
          <dt>Ended</dt>
          <dd>
            <Time at={job.endedAt} />
          </dd>
        </>
      )}
      {job.leasedBy !== null && (
        <>
          <dt>Worker</dt>
          <dd class="mono">{job.leasedBy}</dd>
        </>
      )}
      {job.deduplicationKey !== null && (
        <>
          <dt>Key</dt>
          <dd class="mono">
            <Link class="link" to={jobsPath({ deduplicationKey: job.deduplicationKey })}>
              {job.deduplicationKey}
            </Link>
          </dd>
        </>
      )}
      {job.group !== null && (
        <>
          <dt>Group</dt>
          <dd class="mono">{job.group}</dd>
        </>
      )}
      {job.originId !== null && (
        <>
          <dt>Started by</dt>
          <dd>
            <Link class="link mono" to={jobPath(job.originId)}>
              {shortId(job.originId)}
            </Link>
          </dd>
        </>
      )}
      <dt>Tree</dt>
      <dd>
        <Link class="link mono" to={treePath(job.rootSequenceId)}>
          {shortId(job.rootSequenceId)}
        </Link>
      </dd>
      {traceUrl !== null && (
        <>
          <dt>Trace</dt>
          <dd>
            <OutsideLink href={traceUrl}>
              Open <Icon name="outside" />
            </OutsideLink>
          </dd>
        </>
      )}
    </dl>
  </Card>
);

const Attempts = ({ attempts, job }: { readonly attempts: readonly Attempt[]; readonly job: JobRow }) => (
  <Card title="Attempts" note={attempts.length === 20 ? "the latest 20" : undefined} flush>
    {attempts.length > 1 && <AttemptStrip attempts={attempts} job={job} />}
    <AttemptTable attempts={attempts} />
  </Card>
);

const CauseLink = ({ cause }: { readonly cause: string }) => (
  <Link class="link small" to={jobsPath({ status: "failed", fingerprint: cause })}>
    All that failed like this
  </Link>
);

/** Whether this job is like the others of its type. */
const Compared = ({ job }: { readonly job: JobRow }) => {
  const { data } = usePolled<Statistics>("statistics?minutes=1440", 60_000);
  const numbers = data?.types.find(({ queue, typeName }) => queue === job.queue && typeName === job.typeName);
  if (numbers === undefined) return null;
  const ended = numbers.completed + numbers.failed;
  const ran =
    job.startedAt === null || job.endedAt === null
      ? undefined
      : Date.parse(job.endedAt) - Date.parse(job.startedAt);
  const duration = (ms: number | null): string => (ms === null ? "–" : formatDuration(ms));
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

export const JobPage = ({ id }: { readonly id: string }) => {
  const { data, error, reload } = usePolled<JobDetail>(`jobs/${segment(id)}`);
  const [kind, setKind] = useState<ActionKind>();
  const job = data?.job;
  const cause = data?.attempts[0]?.fingerprint ?? undefined;
  const offered =
    data?.actions.filter((action) => Object.hasOwn(kinds, action) && may(kinds[action].needs)) ?? [];
  return (
    <>
      <Top
        title={job === undefined ? "Job" : `${job.typeName} ${shortId(id)}`}
        path={
          <>
            <Link to="/jobs">Jobs</Link>
            {job !== undefined && (
              <>
                {" / "}
                <Link to={jobsPath({ queue: job.queue })}>queue {job.queue}</Link>
                {" / "}
                <Link to={jobsPath({ typeName: job.typeName })}>{job.typeName}</Link>
              </>
            )}
          </>
        }
      />
      {error !== undefined && error.status !== 404 && <Problem error={error} />}
      {error?.status === 404 && (
        <div class="card">
          <Empty icon="find" title="There is no job with this id.">
            It may have been pruned or deleted. Its tree, if there is one, may still be found by its key or
            type.
          </Empty>
        </div>
      )}
      {data === undefined && error === undefined && <Skeleton rows={10} />}
      {data !== undefined && job !== undefined && (
        <>
          <div class="title">
            <h1>{job.typeName}</h1>
            <JobState job={job} pill />
            <span class="id">
              <span class="mono dim">{job.id}</span>
              <CopyButton text={job.id} label="Copy the id" />
            </span>
            <span class="row side">
              {offered.map((action, index) => (
                <button
                  key={action}
                  type="button"
                  class={`button ${kinds[action].isDangerous ? "danger" : index === 0 ? "primary" : ""}`}
                  {...(index === 0 && { "data-plan": "" })}
                  onClick={() => setKind(action)}
                >
                  {action === "delete" ? "Delete tree" : kinds[action].name}…
                </button>
              ))}
            </span>
          </div>
          <section class={`card why edge-${job.status}`} aria-label={questions[job.status]}>
            <span class="small dim">{questions[job.status]}</span>
            <p class="answer">{answer(data)}</p>
            <Notes detail={data} />
          </section>
          <div class="columns detail">
            <div class="stack">
              {job.error !== null && (
                <Card
                  title={job.status === "failed" ? "Error" : `Error of attempt ${job.attempt}`}
                  note={job.failureReason === null ? undefined : formatReason(job.failureReason)}
                  side={cause !== undefined && <CauseLink cause={cause} />}
                >
                  <ErrorView error={job.error} />
                </Card>
              )}
              {data.attempts.length > 0 && <Attempts attempts={data.attempts} job={job} />}
              <Payloads job={job} />
              {data.blockers.length > 0 && <Blockers blockers={data.blockers} />}
              <Sequence detail={data} />
              <Command text={`leasehold inspect ${job.id} --stack`} />
            </div>
            <div class="stack">
              {kind !== undefined && (
                <PlanPanel
                  kind={kind}
                  choice={{ ids: [job.id] }}
                  title={kind === "delete" ? "its tree" : job.typeName}
                  onClose={() => setKind(undefined)}
                  onDone={reload}
                />
              )}
              <Facts detail={data} />
              {offers("history") && <Compared job={job} />}
            </div>
          </div>
        </>
      )}
    </>
  );
};
