import type { JobDetail } from "../../answers.ts";
import { shortId } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Link, OutsideLink } from "../../parts/link.tsx";
import { Age, Time } from "../../parts/time.tsx";
import { jobPath, jobsPath, treePath } from "../../state/router.ts";

export const Facts = ({ detail: { job, traceUrl } }: { readonly detail: JobDetail }) => (
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
