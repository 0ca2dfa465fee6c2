import type { JobDetail, JobRow } from "../../answers.ts";
import { formatDuration, plural, shortId } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { JobState, StateMark } from "../../parts/state-mark.tsx";
import { jobPath, treePath } from "../../state/router.ts";

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
