/** The names of the tables, quoted and with their schema: nothing depends on a search path. */
export interface Tables {
  readonly schema: string;
  readonly job: string;
  readonly jobBlocker: string;
  readonly migration: string;
  readonly recurring: string;
  /** The SQL type of ids. */
  readonly idType: string;
  readonly idDefault: string;
}

export const nameTables = (schema: string, idType: string, idDefault: string): Tables => ({
  schema,
  job: `${schema}.job`,
  jobBlocker: `${schema}.job_blocker`,
  migration: `${schema}.migration`,
  recurring: `${schema}.recurring_job`,
  idType,
  idDefault,
});
