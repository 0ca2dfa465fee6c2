import {
  createdStateJob,
  type CreatedStateJob,
  FlowNotEnabledError,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  replaced,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Deduplication } from "../deduplication.ts";
import type { Lanes } from "../flow/lanes.ts";
import type { Lines } from "../flow/lines.ts";
import type { Operation } from "../operation.ts";
import { allTexts } from "../row.ts";
import type { Tables } from "../tables.ts";
import type { WaitingJobs } from "../waiting-jobs.ts";
import type { JobLookup } from "./get-jobs.ts";
import { prepareInsertJobs } from "./insert-jobs.ts";

export const prepareCreateJobs = (
  tables: Tables,
  lookup: JobLookup,
  deduplication: Deduplication,
  waiting: WaitingJobs,
  lanes: Lanes,
  lines: Lines,
): Operation<"createJobs"> => {
  const insertJobs = prepareInsertJobs(tables, lines);
  const findTaken = `SELECT j.id FROM json_each(?) AS given CROSS JOIN ${tables.job} AS j ON j.id = given.value`;

  // Everything that can be wrong is found before the first job is stored: that makes the call all or nothing.
  const assertCreatable = (db: SqliteConnection, jobs: readonly NewJob[]): void => {
    const ids = jobs.map(({ id }) => id);
    const taken = new Set(allTexts(db, findTaken, [JSON.stringify(ids)]));
    const given = new Set<string>();
    const positions = new Set<string>();
    for (const { id, sequenceId, sequenceIndex } of jobs) {
      if (given.has(id)) taken.add(id);
      given.add(id);
      if (sequenceIndex === 0) continue;
      // A job has one continuation: a second one at the same position counts as the same job again.
      const position = `${sequenceIndex} ${sequenceId}`;
      const latest = lookup.current(db, sequenceId);
      if (positions.has(position) || (latest !== undefined && latest.sequenceIndex >= sequenceIndex))
        taken.add(id);
      positions.add(position);
    }
    if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);

    for (const { sequenceId, sequenceIndex } of jobs) {
      if (sequenceIndex === 0 || given.has(sequenceId)) continue;
      if (lookup.current(db, sequenceId) === undefined)
        throw new JobNotFoundError(sequenceId, "job sequence");
    }
  };

  const meetDuplicate = (
    db: SqliteConnection,
    duplicate: StateJob,
    wanted: NewJob,
    now: number,
  ): CreatedStateJob => {
    const replacement = replaced(duplicate, wanted, now);
    if (replacement === undefined) return { job: duplicate, deduplicated: true };
    waiting.save(db, replacement, now);
    return { job: replacement, deduplicated: true, replaced: true };
  };

  return (db, { jobs }, now) => {
    assertCreatable(db, jobs);
    if (jobs.some(({ group }) => group !== null) && !lanes.read(db).isEnabled)
      throw new FlowNotEnabledError();
    const inserts = insertJobs(db, now);
    const results = jobs.map((wanted): CreatedStateJob => {
      // Earlier jobs of the same call count as duplicates too, so they have to be stored first.
      if (wanted.deduplication !== null) inserts.flush();
      const earlier = wanted.deduplication?.onDuplicate && waiting.findReplacedBy(db, wanted.id);
      if (earlier !== undefined) return { job: earlier, deduplicated: true, replaced: true };
      const duplicate = deduplication.findEarlier(db, wanted, now);
      if (duplicate !== undefined) return meetDuplicate(db, duplicate, wanted, now);
      const job = createdStateJob(wanted, now);
      inserts.add(job);
      return { job, deduplicated: false };
    });
    inserts.flush();
    for (const { sequenceId, sequenceIndex } of jobs)
      if (sequenceIndex > 0) deduplication.refresh(db, sequenceId);
    return results;
  };
};
