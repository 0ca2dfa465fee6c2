import type { StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { firstText } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

// A change of any column writes the whole row, so a longer input is in a table of its own.
const longestInlineInput = 2_000;

/** What a row of the job table has as its input. */
export const inlineInput = (input: string): string | null =>
  input.length > longestInlineInput ? null : input;

export interface LongInputs {
  /** Stores the input of a new job that is too long for its row. */
  insert(db: SqliteConnection, job: StateJob): void;
  /** Stores or removes the long input of a job whose input may have changed. */
  replace(db: SqliteConnection, job: StateJob): void;
  /** The job as claimed, with its long input if it has one: as part of a JSON text, that would be slow to read. */
  load(db: SqliteConnection, claimed: StateJob): StateJob;
}

export const createLongInputs = ({ job, input: table }: Tables): LongInputs => {
  const write = `INSERT INTO ${table} (job_seq, input) SELECT seq, ? FROM ${job} WHERE id = ?
    ON CONFLICT (job_seq) DO UPDATE SET input = excluded.input WHERE input <> excluded.input`;
  const ofJob = `FROM ${table} WHERE job_seq = (SELECT seq FROM ${job} WHERE id = ?)`;
  const insert: LongInputs["insert"] = (db, { id, input }) => {
    if (inlineInput(input) === null) db.run(write, [input, id]);
  };
  return {
    insert,
    replace: (db, row) => {
      if (inlineInput(row.input) !== null) db.run(`DELETE ${ofJob}`, [row.id]);
      else insert(db, row);
    },
    load: (db, claimed) =>
      (claimed.input as string | undefined) === undefined
        ? { ...claimed, input: firstText(db, `SELECT input ${ofJob}`, [claimed.id])! }
        : claimed,
  };
};

/** The input of the job under this alias. */
export const inputOf = ({ input }: Tables, alias: string): string =>
  `coalesce(${alias}.input, (SELECT long.input FROM ${input} AS long WHERE long.job_seq = ${alias}.seq))`;
