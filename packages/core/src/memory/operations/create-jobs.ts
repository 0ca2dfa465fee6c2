import { createdStateJob } from "../../store/rules/transitions.ts";
import type { CreatedStateJob, NewJob } from "../../store/contract/creation.ts";
import { JobAlreadyExistsError, JobNotFoundError } from "../../store/errors.ts";
import { replaced } from "../../store/rules/edits.ts";
import type { JobRecord } from "../job-record.ts";
import type { JobStore } from "../job-store.ts";

// Everything that can be wrong is found before the first job is stored: that makes the call all or nothing.
const assertCreatable = (store: JobStore, jobs: readonly NewJob[]): void => {
  const given = new Set<string>();
  const positions = new Set<string>();
  const taken = new Set<string>();
  for (const { id, sequenceId, sequenceIndex } of jobs) {
    if (given.has(id) || store.find(id) !== undefined) taken.add(id);
    given.add(id);
    if (sequenceIndex === 0) continue;
    // A job has one continuation: a second one in the same place is as good as the same job again.
    const position = `${sequenceIndex} ${sequenceId}`;
    const latest = store.current(sequenceId);
    if (positions.has(position) || (latest !== undefined && latest.row.sequenceIndex >= sequenceIndex))
      taken.add(id);
    positions.add(position);
  }
  if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);

  for (const { sequenceId, sequenceIndex } of jobs) {
    if (sequenceIndex === 0 || given.has(sequenceId) || store.current(sequenceId) !== undefined) continue;
    throw new JobNotFoundError(sequenceId, "job sequence");
  }
};

const among = { all: "all", unfinished: "live", pending: "waiting" } as const;

const findDuplicate = (store: JobStore, job: NewJob, now: number): JobRecord | undefined => {
  if (job.deduplication === null) return undefined;
  const { key, scope, windowMs } = job.deduplication;
  const earlier = store.deduplication.newest(job.sequenceTypeName, key, among[scope]);
  const isTooOld = earlier !== undefined && windowMs !== null && earlier.row.createdAt <= now - windowMs;
  return isTooOld ? undefined : earlier;
};

const meetDuplicate = (store: JobStore, duplicate: JobRecord, job: NewJob, now: number): CreatedStateJob => {
  const replacement = replaced(duplicate.row, job, now);
  if (replacement === undefined) return { job: duplicate.row, deduplicated: true };
  store.update(duplicate, replacement);
  return { job: duplicate.row, deduplicated: true, replaced: true };
};

export const createJobs = (store: JobStore, jobs: readonly NewJob[], now: number): CreatedStateJob[] => {
  assertCreatable(store, jobs);
  return jobs.map((job) => {
    const earlier = job.deduplication?.onDuplicate && store.findReplacedBy(job.id);
    if (earlier !== undefined) return { job: earlier.row, deduplicated: true, replaced: true };
    const duplicate = findDuplicate(store, job, now);
    if (duplicate !== undefined) return meetDuplicate(store, duplicate, job, now);
    return { job: store.insert(createdStateJob(job, now)).row, deduplicated: false };
  });
};
