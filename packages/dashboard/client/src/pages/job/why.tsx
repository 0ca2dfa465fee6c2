import type { Explanation, JobDetail, JobRow } from "../../../../src/answers/jobs.ts";
import type { Statistics } from "../../../../src/answers/numbers.ts";
import { Card } from "../../parts/card.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Age, StateMark, Time } from "../../parts/job-state.tsx";
import { Link } from "../../parts/link.tsx";
import { usePolled } from "../../state/api.ts";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatFailure,
  formatShare,
  formatTime,
  plural,
} from "../../state/format.ts";
import { jobPath, jobsPath, withQuery } from "../../state/router.ts";
import { backlog } from "../../state/session.ts";
import { now } from "../../state/settings.ts";

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

const questions: Readonly<Record<JobRow["status"], string>> = {
  blocked: "Why is it not running?",
  pending: "Why is it not running?",
  running: "What is it doing?",
  completed: "How did it end?",
  failed: "Why did it fail?",
};

/** Formats the times in a sentence of the server. */
const withTimes = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (iso) => formatTime(iso, now.value));

/** The mark of a link in the chain. */
const statusOf = (state: string): JobRow["status"] => {
  if (state === "blocked" || state === "completed" || state === "failed") return state;
  return state === "running" || state === "lease_expired" ? "running" : "pending";
};

const until = (iso: string): string => {
  const left = Date.parse(iso) - now.value;
  return left > 0 ? `in ${formatAge(left)}` : "now";
};

/** The explanation in a sentence, with ages and countdowns from the job. */
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
    case "blocked": {
      const open = blockers.filter(({ status }) => status !== "completed").length;
      const [first] = explanation.chain ?? [];
      const others = open > 1 ? ` and ${plural(open - 1, "other blocker")}` : "";
      return `It waits for ${first?.typeName ?? plural(open, "blocker")}${first === undefined ? "" : others}.`;
    }
    default:
      return withTimes(summary ?? "");
  }
};

/** What it waits for, and what that waits for, to the end. */
const Chain = ({ explanation: { chain = [], holders = [], scope, by } }: JobDetail) => {
  const others = holders.filter(({ jobId }) => jobId !== chain[0]?.jobId);
  const isLimited = by !== undefined && by !== "order" && scope !== undefined;
  if (chain.length + others.length === 0 && !isLimited) return null;
  return (
    <ol class="steps chain" aria-label="What it waits for">
      {chain.map(({ jobId, typeName, state, reason }) => (
        <li key={jobId}>
          <StateMark status={statusOf(state)} words="" />
          <span>
            <Link class="strong" to={jobPath(jobId)}>
              {typeName}
            </Link>{" "}
            {withTimes(reason)}
          </span>
        </li>
      ))}
      {others.map(({ jobId, typeName, leasedBy, since }) => (
        <li key={jobId}>
          <StateMark status="running" words="" />
          <span>
            <Link class="strong" to={jobPath(jobId)}>
              {typeName}
            </Link>{" "}
            holds a slot: it has been running for {formatAge(now.value - Date.parse(since))} on {leasedBy}
          </span>
        </li>
      ))}
      {isLimited && (
        <li>
          <Icon name="limits" />
          <Link class="link" to={withQuery("/limits", { queue: scope.queue })}>
            Limits of queue {scope.queue}
          </Link>
        </li>
      )}
    </ol>
  );
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
          {explanation.aheadCapped === true && "more than "}
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

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** The share of the work that is done, if the progress contains it: a number up to 1, `percent`, or `done` of `total`. */
const shareOf = (progress: unknown): number | undefined => {
  if (isNumber(progress)) return progress >= 0 && progress <= 1 ? progress : undefined;
  if (typeof progress !== "object" || progress === null) return undefined;
  const { percent, done, completed = done, total } = progress as Readonly<Record<string, unknown>>;
  if (isNumber(percent)) return Math.min(1, Math.max(0, percent / 100));
  return isNumber(completed) && isNumber(total) && total > 0
    ? Math.min(1, Math.max(0, completed / total))
    : undefined;
};

const ProgressBar = ({ progress }: { readonly progress: unknown }) => {
  const share = shareOf(progress);
  if (share === undefined) return null;
  return (
    <div class="row">
      <progress max={1} value={share} aria-label="Progress of the job" />
      <span class="small">{Math.floor(100 * share)} % done</span>
    </div>
  );
};

/** Why it is where it is, before anything else. */
export const Why = ({ detail }: { readonly detail: JobDetail }) => {
  const { status } = detail.job;
  return (
    <section class={`card why edge-${status}`} aria-label={questions[status]}>
      <span class="small dim">{questions[status]}</span>
      <p class="answer">{answer(detail)}</p>
      <Chain {...detail} />
      {status === "running" && <ProgressBar progress={detail.job.progress} />}
      <Notes detail={detail} />
    </section>
  );
};
