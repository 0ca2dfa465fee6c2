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

const readShared = (job: StateJob): SqliteValue[] => [...read(sharedColumns, job), initiallyLive(job)];

/** Whether the two differ in nothing but their own columns. */
const areAlike = (a: StateJob, b: StateJob): boolean => {
  for (const property of sharedProperties) if (a[property] !== b[property]) return false;
  return true;
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
  const sharedNames = [...sharedColumns.map(({ name }) => name), "deduplication_live"];
  const names = [...ownNames, ...sharedNames];
  const marks = (columns: readonly string[]): string => columns.map(() => "?").join(", ");
  const insertOne = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks(names)})`;
  const insertRun = `INSERT INTO ${table} (${names.join(", ")})
    SELECT given.key, given.key, given.key, given.value, ${marks(sharedNames)}
    FROM json_each(?) AS given`;

  return (db) => {
    let jobs: StateJob[] = [];
    let characters = 0;

    const flush = (): void => {
      const [first] = jobs;
      if (first === undefined) return;
      if (jobs.length === 1) db.run(insertOne, [...read(ownColumns, first), ...readShared(first)]);
      else {
        // An object would put ids that look like numbers first. This text keeps the order.
        const entries = jobs.map(({ id, input }) => `"${id}":${JSON.stringify(input)}`);
        db.run(insertRun, [...readShared(first), `{${entries.join(",")}}`]);
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
