/** The names of the tables, quoted and with their schema: nothing depends on a search path. */
export interface Tables {
  readonly schema: string;
  readonly job: string;
  readonly jobBlocker: string;
  readonly migration: string;
  readonly recurring: string;
  readonly flow: string;
  readonly flowRule: string;
  readonly flowUse: string;
  readonly line: string;
  readonly lineNote: string;
  readonly jobAttempt: string;
  readonly reporter: string;
  readonly rollup: string;
  readonly cause: string;
  readonly action: string;
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
  flow: `${schema}.flow`,
  flowRule: `${schema}.flow_rule`,
  flowUse: `${schema}.flow_use`,
  line: `${schema}.line`,
  lineNote: `${schema}.line_note`,
  jobAttempt: `${schema}.job_attempt`,
  reporter: `${schema}.reporter`,
  rollup: `${schema}.rollup`,
  cause: `${schema}.cause`,
  action: `${schema}.action`,
  idType,
  idDefault,
});
