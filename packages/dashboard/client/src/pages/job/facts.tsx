import type { JobDetail, JobRow } from "../../../../src/answers/jobs.ts";
import { Card } from "../../parts/card.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Age, JobState, StateMark, Time } from "../../parts/job-state.tsx";
import { CopyButton, Link, OutsideLink } from "../../parts/link.tsx";
import { PayloadView } from "../../parts/payload.tsx";
import { Segments } from "../../parts/shell.tsx";
import { formatDuration, plural, shortId } from "../../state/format.ts";
import { changeQuery, jobPath, jobsPath, place, treePath, workerPath } from "../../state/router.ts";

export const StoreFacts = ({ detail: { job, traceUrl } }: { readonly detail: JobDetail }) => (
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
          <dd>
            <Link class="link mono" to={workerPath(job.leasedBy)}>
              {job.leasedBy}
            </Link>
          </dd>
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

const tabs = [
  ["input", "Input"],
  ["output", "Output"],
  ["progress", "Progress"],
] as const;

/** Its payloads: input, output, progress. */
export const Payloads = ({ job }: { readonly job: JobDetail["job"] }) => {
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

export const Sequence = ({ detail: { job, sequence } }: { readonly detail: JobDetail }) => (
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

export const Blockers = ({ blockers }: Pick<JobDetail, "blockers">) => (
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
