import {
  assertIdsGiven,
  createdStateJob,
  type CreatedStateJob,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  replaced,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { allTexts } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues, Places } from "../limits/group-queues.ts";
import {
  groupedPriority,
  type InsertedColumn,
  insertedColumns,
  type JobLookup,
  rareColumns,
} from "../rows/job-table.ts";
import { createLongInputs, inlineInput } from "../rows/long-inputs.ts";
import { type Deduplication, initiallyLive } from "./deduplication.ts";
import type { Edits } from "./edits.ts";

// The columns that differ between the jobs of a bulk start. The other columns are usually equal.
const ownNames = ["id", "sequence_id", "root_sequence_id", "input"];

const readOwn = ({ id, sequenceId, rootSequenceId, input }: StateJob): SqliteValue[] => [
  id,
  sequenceId,
  rootSequenceId,
  inlineInput(input),
];

// The columns that also differ in a bulk start with groups.
const groupNames = ["group_key", "claim_key"];

const sharedColumns = insertedColumns.filter(({ name }) => ![...ownNames, ...groupNames].includes(name));

const sharedProperties = [...sharedColumns, ...rareColumns].map(({ property }) => property);

const read = (columns: readonly InsertedColumn[], job: StateJob): SqliteValue[] =>
  columns.map((column) => column.valueOf(job));

// Values that are derived from the job.
const derivedNames = ["deduplication_open", "priority", "given_priority", "group_order"];

const hasRareValues = (job: StateJob): boolean => rareColumns.some((column) => column.valueOf(job) !== null);

const readShared = (job: StateJob, places: Places | undefined): SqliteValue[] => [
  ...read(sharedColumns, job),
  initiallyLive(job),
  places === undefined ? job.priority : groupedPriority,
  places === undefined ? null : job.priority,
  places?.groupOrder ?? null,
  ...(hasRareValues(job) ? read(rareColumns, job) : []),
];

/** Whether the jobs differ only in `ownNames` and `groupNames`. */
const areAlike = (a: StateJob, b: StateJob): boolean => {
  for (const property of sharedProperties) if (a[property] !== b[property]) return false;
  return a.priority === b.priority && (a.group === null) === (b.group === null);
};

/** Whether the job is alone in its sequence and tree, so that all three have one id; and the id needs no escaping in JSON. */
const isOnItsOwn = ({ id, sequenceId, rootSequenceId }: StateJob): boolean =>
  id === sequenceId && id === rootSequenceId && /^[\w-]+$/.test(id);

// Enough to make the fixed cost of the statement small, in a text that is cheap to build.
const mostShared = 200;

const mostSharedCharacters = 1_000_000;

/** Collects jobs and inserts them in the order they were added, by `flush` at the latest. */
export interface Inserts {
  add(job: StateJob): void;
  flush(): void;
}

/**
 * A bulk start is mostly the same job again and again, with another id and input, and often another group. One statement
 * writes such a run: it takes what the jobs share once, and the rest as one JSON text. That is three times as fast as one
 * statement for each job.
 */
const prepareInsertJobs = (
  tables: Tables,
  groupQueues: GroupQueues,
): ((db: SqliteConnection, now: number) => Inserts) => {
  const { job: table } = tables;
  const longInputs = createLongInputs(tables);
  const marks = (columns: readonly string[]): string => columns.map(() => "?").join(", ");
  const statementsFor = (more: readonly string[]) => {
    const sharedNames = [...sharedColumns.map(({ name }) => name), ...derivedNames, ...more];
    const names = [...ownNames, ...groupNames, ...sharedNames];
    return {
      one: `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks(names)})`,
      run: `INSERT INTO ${table} (${[...ownNames, ...sharedNames].join(", ")})
    SELECT given.key, given.key, given.key, given.value, ${marks(sharedNames)}
    FROM json_each(?) AS given`,
      groupRun: `INSERT INTO ${table} (${names.join(", ")})
    SELECT given.key, given.key, given.key, given.value ->> 0, given.value ->> 1, given.value ->> 2, ${marks(sharedNames)}
    FROM json_each(?) AS given`,
    };
  };
  const plain = statementsFor([]);
  const withRareValues = statementsFor(rareColumns.map(({ name }) => name));

  return (db, now) => {
    let jobs: StateJob[] = [];
    let characters = 0;

    const insert = (first: StateJob): void => {
      const places = groupQueues.placeNew(db, jobs, now);
      const shared = readShared(first, places);
      const statements = hasRareValues(first) ? withRareValues : plain;
      if (jobs.length === 1) {
        db.run(statements.one, [...readOwn(first), first.group, places?.claimKeys[0] ?? null, ...shared]);
        return;
      }
      const hasGroups = places !== undefined || first.group !== null;
      // `JSON.stringify` of an object would put numeric ids first. This text keeps the order.
      const entries = jobs.map(({ id, input, group }, index) => {
        const inline = inlineInput(input);
        const value = hasGroups ? [inline, group, places?.claimKeys[index] ?? null] : inline;
        return `"${id}":${JSON.stringify(value)}`;
      });
      db.run(hasGroups ? statements.groupRun : statements.run, [...shared, `{${entries.join(",")}}`]);
    };

    const flush = (): void => {
      const [first] = jobs;
      if (first !== undefined) insert(first);
      for (const job of jobs) longInputs.insert(db, job);
      jobs = [];
      characters = 0;
    };

    const continuesRun = (job: StateJob): boolean => {
      const [first] = jobs;
      return (
        first !== undefined &&
        jobs.length < mostShared &&
        characters < mostSharedCharacters &&
        isOnItsOwn(job) &&
        isOnItsOwn(first) &&
        areAlike(job, first)
      );
    };

    return {
      add: (job) => {
        if (!continuesRun(job)) flush();
        jobs.push(job);
        characters += inlineInput(job.input)?.length ?? 0;
      },
      flush,
    };
  };
};

export const prepareCreateJobs = (
  tables: Tables,
  lookup: JobLookup,
  deduplication: Deduplication,
  waiting: Edits,
  groupQueues: GroupQueues,
): Operation<"createJobs"> => {
  const insertJobs = prepareInsertJobs(tables, groupQueues);
  const findTaken = `SELECT j.id FROM json_each(?) AS given CROSS JOIN ${tables.job} AS j ON j.id = given.value`;

  // Checks all jobs before the first insert, so that the call is all or nothing.
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
    assertIdsGiven(jobs);
    assertCreatable(db, jobs);
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
