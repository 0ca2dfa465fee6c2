import type { StateJob } from "../../store/contract/job.ts";
import type { JobStore } from "../job-store.ts";

interface Group {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string | null;
}

export const resumeGroup = ({ flow, runnable }: JobStore, { queue, typeName, group }: Group): boolean => {
  const cell = flow.find(queue, typeName);
  if (cell === undefined || flow.line(cell, group).stoppedBy === null) return false;
  flow.setLine(cell, group, { stoppedBy: null });
  runnable.reconsider({ queue, typeName, group });
  return true;
};

/** A job has failed for good. */
export const stopGroup = ({ flow }: JobStore, { id, queue, typeName, group, ordered }: StateJob): void => {
  if (ordered === "stop" && group !== null)
    flow.setLine(flow.open(queue, typeName), group, { stoppedBy: id });
};

/** A failed job has been revived or deleted: if it was what stopped its group, the group goes on. */
export const liftStop = (store: JobStore, job: StateJob): void => {
  if (job.ordered !== "stop" || job.group === null) return;
  const { stoppedBy } = store.flow.line(store.flow.find(job.queue, job.typeName), job.group);
  if (stoppedBy === job.id) resumeGroup(store, job);
};
