import { useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { ActionKind, Attempt, JobDetail, JobOffer, JobRow, Right } from "../../../src/answers/jobs.ts";
import { PlanPanel } from "../parts/action-panel.tsx";
import { AttemptStrip, AttemptTable } from "../parts/attempts.tsx";
import { Card, Empty, Problem, Skeleton } from "../parts/card.tsx";
import { JobState } from "../parts/job-state.tsx";
import { Command, CopyButton, Link } from "../parts/link.tsx";
import { ErrorView } from "../parts/payload.tsx";
import { Top } from "../parts/shell.tsx";
import { kinds } from "../state/action.ts";
import { usePolled } from "../state/api.ts";
import { formatReason, shortId } from "../state/format.ts";
import { jobsPath } from "../state/router.ts";
import { may, offers } from "../state/session.ts";
import { CompletePanel } from "./job/complete.tsx";
import { EditPanel } from "./job/edit.tsx";
import { Blockers, StoreFacts, Payloads, Sequence } from "./job/facts.tsx";
import { Compared, Why } from "./job/why.tsx";

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

/** A job keeps the error of its last attempt that failed, which need not be its last attempt. */
const LastError = ({ detail: { job, attempts } }: { readonly detail: JobDetail }) => {
  if (job.error === null) return null;
  const failed = attempts.find(({ error }) => error !== null);
  // Where no attempts are kept: the one before, once another has begun.
  const attempt = failed?.attempt ?? (job.status === "pending" ? job.attempt : job.attempt - 1);
  return (
    <Card
      title={job.status === "failed" ? "Error" : `Error of attempt ${attempt}`}
      note={job.failureReason === null ? undefined : formatReason(job.failureReason)}
      side={failed?.fingerprint != null && <CauseLink cause={failed.fingerprint} />}
    >
      <ErrorView error={job.error} />
    </Card>
  );
};

type Offered = ActionKind | JobOffer;

const jobOffers: Readonly<Record<JobOffer, { readonly name: string; readonly needs: Right }>> = {
  complete: { name: "Complete", needs: "complete" },
  edit: { name: "Edit input", needs: "update" },
};

const isOffer = (kind: Offered): kind is JobOffer => Object.hasOwn(jobOffers, kind);

const nameOf = (kind: Offered): string => {
  if (isOffer(kind)) return jobOffers[kind].name;
  return kind === "delete" ? "Delete tree" : kinds[kind].name;
};

const isDangerous = (kind: Offered): boolean => !isOffer(kind) && kinds[kind].isDangerous;

/** What helps most comes first: to complete an approval, to redrive a failed job. */
const inOrder = (
  { explanation }: JobDetail,
  single: readonly JobOffer[],
  planned: readonly ActionKind[],
): readonly Offered[] => {
  const first = explanation.state === "workerless" ? single.filter((kind) => kind === "complete") : [];
  return [...new Set([...first, ...planned.filter((kind) => !isDangerous(kind)), ...single, ...planned])];
};

const Title = ({
  job,
  offered,
  onChoose,
}: {
  readonly job: JobRow;
  readonly offered: readonly Offered[];
  onChoose(kind: Offered): void;
}) => (
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
          class={`button ${isDangerous(action) ? "danger" : index === 0 ? "primary" : ""}`}
          {...(index === 0 && { "data-plan": "" })}
          onClick={() => onChoose(action)}
        >
          {nameOf(action)}…
        </button>
      ))}
    </span>
  </div>
);

export const JobPage = ({ id }: { readonly id: string }) => {
  const { data, error, reload } = usePolled<JobDetail>(`jobs/${toSegment(id)}`);
  const [kind, setKind] = useState<ActionKind | JobOffer>();
  const job = data?.job;
  const close = (): void => setKind(undefined);
  const single = data?.offers.filter((offer) => may(jobOffers[offer].needs)) ?? [];
  const planned =
    data?.actions.filter((action) => Object.hasOwn(kinds, action) && may(kinds[action].needs)) ?? [];
  return (
    <>
      <Top
        title={job === undefined ? "Job" : `${job.typeName} ${shortId(id)}`}
        path={
          job !== undefined && (
            <>
              <Link to="/jobs">Jobs</Link>
              {" / "}
              <Link to={jobsPath({ queue: job.queue })}>queue {job.queue}</Link>
              {" / "}
              <Link to={jobsPath({ typeName: job.typeName })}>{job.typeName}</Link>
            </>
          )
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
          <Title job={job} offered={inOrder(data, single, planned)} onChoose={setKind} />
          <Why detail={data} />
          <div class="columns detail">
            <div class="stack">
              {job.status !== "completed" && <LastError detail={data} />}
              {data.attempts.length > 0 && <Attempts attempts={data.attempts} job={job} />}
              <Payloads job={job} />
              {job.status === "completed" && <LastError detail={data} />}
              {data.blockers.length > 0 && <Blockers blockers={data.blockers} />}
              <Sequence detail={data} />
              <Command text={`leasehold inspect ${job.id} --stack`} />
            </div>
            <div class="stack">
              {kind === "complete" && <CompletePanel job={job} onClose={close} onDone={reload} />}
              {kind === "edit" && <EditPanel detail={data} onClose={close} onDone={reload} />}
              {kind !== undefined && kind !== "complete" && kind !== "edit" && (
                <PlanPanel
                  kind={kind}
                  choice={{ ids: [job.id] }}
                  title={kind === "delete" ? "its tree" : job.typeName}
                  onClose={close}
                  onDone={reload}
                />
              )}
              <StoreFacts detail={data} />
              {offers("history") && <Compared job={job} />}
            </div>
          </div>
        </>
      )}
    </>
  );
};
