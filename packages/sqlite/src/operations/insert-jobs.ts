import type { StateJob } from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "../connection/connection.ts";
import { initiallyLive } from "../deduplication.ts";
import { type InsertedColumn, insertedColumns } from "../job-columns.ts";
import type { Tables } from "../tables.ts";

// Different for every job of a bulk start. All others are the same in most of them.
const ownNames = ["id", "sequence_id", "root_sequence_id", "input"];
const ownColumns = ownNames.map((own) => insertedColumns.find(({ name }) => name === own)!);

const sharedColumns = insertedColumns.filter(({ name }) => !ownNames.includes(name));
const sharedProperties = sharedColumns.map(({ property }) => property);

const read = (columns: readonly InsertedColumn[], job: StateJob): SqliteValue[] =>
  columns.map((column) => column.valueOf(job));

// Few jobs have values in these columns, so the statement for all others does not have them.
const rareNames = ["expire_after_ms", "recurrence"];
const hasRareValues = ({ expireAfterMs, recurrence }: StateJob): boolean =>
  expireAfterMs !== null || recurrence !== null;

const readShared = (job: StateJob): SqliteValue[] => {
  const values = [...read(sharedColumns, job), initiallyLive(job)];
  if (hasRareValues(job)) values.push(job.expireAfterMs, job.recurrence);
  return values;
};

/** Whether the two differ in nothing but their own columns. */
const areAlike = (a: StateJob, b: StateJob): boolean => {
  for (const property of sharedProperties) if (a[property] !== b[property]) return false;
  return a.expireAfterMs === b.expireAfterMs && a.recurrence === b.recurrence;
};

/** Whether the job is alone in its sequence and tree, so that all three have one id; and the id needs no escaping in JSON. */
const isOnItsOwn = ({ id, sequenceId, rootSequenceId }: StateJob): boolean =>
  id === sequenceId && id === rootSequenceId && /^[\w-]+$/.test(id);

// Enough to make the fixed cost of the statement small, in a text that is cheap to build.
const mostShared = 200;
const mostSharedCharacters = 1_000_000;

/** Collects jobs and writes them in the order they were added, by `flush` at the latest. */
export interface Inserts {
  add(job: StateJob): void;
  flush(): void;
}

/**
 * A bulk start is mostly the same job again and again, with another id and input. One statement writes such a run: it takes
 * what the jobs share once, and the rest as one JSON text. That is three times as fast as one statement for each job.
 */
export const prepareInsertJobs = ({ job: table }: Tables): ((db: SqliteConnection) => Inserts) => {
  const marks = (columns: readonly string[]): string => columns.map(() => "?").join(", ");
  const statementsFor = (more: readonly string[]): { readonly one: string; readonly run: string } => {
    const sharedNames = [...sharedColumns.map(({ name }) => name), "deduplication_live", ...more];
    const names = [...ownNames, ...sharedNames];
    return {
      one: `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks(names)})`,
      run: `INSERT INTO ${table} (${names.join(", ")})
    SELECT given.key, given.key, given.key, given.value, ${marks(sharedNames)}
    FROM json_each(?) AS given`,
    };
  };
  const plain = statementsFor([]);
  const withRareValues = statementsFor(rareNames);

  return (db) => {
    let jobs: StateJob[] = [];
    let characters = 0;

    const flush = (): void => {
      const [first] = jobs;
      if (first === undefined) return;
      const insert = hasRareValues(first) ? withRareValues : plain;
      if (jobs.length === 1) db.run(insert.one, [...read(ownColumns, first), ...readShared(first)]);
      else {
        // An object would put ids that look like numbers first. This text keeps the order.
        const entries = jobs.map(({ id, input }) => `"${id}":${JSON.stringify(input)}`);
        db.run(insert.run, [...readShared(first), `{${entries.join(",")}}`]);
      }
      jobs = [];
      characters = 0;
    };

    const continuesRun = (job: StateJob): boolean => {
      const [first] = jobs;
      return (
        first !== undefined &&
        jobs.length < mostShared &&
        characters + job.input.length < mostSharedCharacters &&
        isOnItsOwn(job) &&
        isOnItsOwn(first) &&
        areAlike(job, first)
      );
    };

    return {
      add: (job) => {
        if (!continuesRun(job)) flush();
        jobs.push(job);
        characters += job.input.length;
      },
      flush,
    };
  };
};
