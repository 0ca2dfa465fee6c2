import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { Attempt, JobRow, Status } from "../../../src/answers/jobs.ts";
import { formatDuration } from "../state/format.ts";
import { now } from "../state/settings.ts";
import { Scroll } from "./card.tsx";
import { StateMark, Time } from "./job-state.tsx";
import { ErrorView, PayloadView, showText } from "./payload.tsx";

const ms = (iso: string | null): number | undefined => (iso === null ? undefined : Date.parse(iso));

const between = (from: string | null, to: string | null): string => {
  const [start, end] = [ms(from), ms(to)];
  return start === undefined || end === undefined ? "–" : formatDuration(end - start);
};

const width = 1_000;

/** The life of a job as a strip: what it waited for, and when it ran. */
export const AttemptStrip = ({
  attempts,
  job,
}: {
  readonly attempts: readonly Attempt[];
  readonly job: JobRow;
}) => {
  const from = Math.min(
    Date.parse(job.createdAt),
    ...attempts.map(({ startedAt, endedAt }) => ms(startedAt) ?? Date.parse(endedAt)),
  );
  const to = Math.max(ms(job.endedAt) ?? now.value, Date.parse(job.scheduledAt), from + 1);
  const x = (at: number): number => ((at - from) / (to - from)) * width;
  const bar = (start: number, end: number): { x: number; width: number } => ({
    x: x(start),
    width: Math.max(3, x(end) - x(start)),
  });
  const oldest = [...attempts].reverse();
  return (
    <div class="strip">
      <svg
        viewBox={`0 0 ${width} 30`}
        preserveAspectRatio="none"
        role="img"
        aria-label="When it waited and when it ran"
      >
        <rect class="strip-back" y="8" width={width} height="14" />
        {oldest.map(({ outcome, dueAt, startedAt, endedAt }, index) => {
          const start = ms(startedAt) ?? Date.parse(endedAt);
          const due = ms(dueAt);
          return (
            <Fragment key={index}>
              {due !== undefined && <rect class="strip-queue" y="11" height="8" {...bar(due, start)} />}
              <rect
                class={`strip-${stateOf(outcome)}`}
                y="3"
                height="24"
                {...bar(start, Date.parse(endedAt))}
              />
            </Fragment>
          );
        })}
      </svg>
      <div class="axis">
        <Time at={new Date(from).toISOString()} />
        <span class="legend">
          <span>
            <i class="key-backoff" /> backoff
          </span>
          <span>
            <i class="key-queue" /> in the queue
          </span>
          <span>
            <i class="key-ran" /> ran and failed
          </span>
          {job.status === "completed" && (
            <span>
              <i class="key-completed" /> completed
            </span>
          )}
        </span>
        <Time at={new Date(to).toISOString()} />
      </div>
    </div>
  );
};

interface LogLine {
  readonly at: string;
  readonly text: string;
  readonly data?: unknown;
}

/** What the handler wrote, or that it is hidden. */
const Log = ({ log }: { readonly log: unknown }) => {
  if (log === null) return null;
  if (!Array.isArray(log)) return <PayloadView value={log} label="Log" />;
  if (log.length === 0) return null;
  return (
    <pre class="frames log" tabIndex={0} role="group" aria-label="Log">
      {(log as readonly LogLine[]).map(({ at, text, data }, index) => (
        <span key={index} class="own">
          <Time at={at} /> {text} {data === undefined ? "" : JSON.stringify(data)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
};

const outcomes: Readonly<Record<string, string>> = {
  retried: "tried again",
  released: "released",
  expired: "lease expired",
  already_completed: "completed from outside",
};

const stateOf = (outcome: string): Status => {
  if (outcome === "completed" || outcome === "already_completed") return "completed";
  return outcome === "released" ? "pending" : "failed";
};

const Row = ({
  attempt,
  backoff,
  hasDeployment,
}: {
  readonly attempt: Attempt;
  readonly backoff: string;
  readonly hasDeployment: boolean;
}) => {
  const [isOpen, setIsOpen] = useState(false);
  const { error, outcome, workerId, deployment, dueAt, startedAt, endedAt } = attempt;
  const words = error === null ? (outcomes[outcome] ?? outcome) : showText(error.name);
  return (
    <>
      <tr>
        <td class="number">{attempt.attempt}</td>
        <td>
          {error === null ? (
            <StateMark status={stateOf(outcome)} words={words} />
          ) : (
            <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
              <StateMark status="failed" words={words} />
            </button>
          )}
        </td>
        <td class="mono">{workerId ?? "–"}</td>
        {hasDeployment && <td class="mono">{deployment ?? "–"}</td>}
        <td class="number">{backoff}</td>
        <td class="number">{between(dueAt, startedAt)}</td>
        <td class="number">{between(startedAt, endedAt)}</td>
        <td class="number">
          <Time at={startedAt ?? endedAt} />
        </td>
      </tr>
      {isOpen && error !== null && (
        <tr>
          <td colSpan={8} class="wrap">
            <ErrorView error={error} />
            <Log log={attempt.log} />
          </td>
        </tr>
      )}
    </>
  );
};

export const AttemptTable = ({ attempts }: { readonly attempts: readonly Attempt[] }) => {
  const hasDeployment = attempts.some(({ deployment }) => deployment !== null);
  return (
    <Scroll label="Attempts">
      <table class="dense">
        <thead>
          <tr>
            <th class="number">#</th>
            <th>Ended by</th>
            <th>Worker</th>
            {hasDeployment && <th>Deployment</th>}
            <th class="number">Backoff</th>
            <th class="number">In queue</th>
            <th class="number">Ran</th>
            <th class="number">Started</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt, index) => (
            <Row
              key={`${attempt.attempt} ${attempt.startedAt}`}
              attempt={attempt}
              hasDeployment={hasDeployment}
              backoff={between(attempts[index + 1]?.endedAt ?? null, attempt.dueAt)}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
};
