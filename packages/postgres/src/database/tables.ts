/** The names of the tables, quoted and with their schema: no statement depends on a search path. */
export interface Tables {
  readonly schema: string;
  readonly job: string;
  readonly jobBlocker: string;
  readonly jobAttempt: string;
  readonly jobType: string;
  readonly recurring: string;
  readonly limitEpoch: string;
  readonly limitRule: string;
  readonly limitUsage: string;
  readonly limitDelta: string;
  readonly limitEdit: string;
  readonly groupState: string;
  readonly process: string;
  readonly statisticsBucket: string;
  readonly failureCause: string;
  readonly migration: string;
  /** The SQL type of ids. */
  readonly idType: string;
  readonly idDefault: string;
}

export const nameTables = (schema: string, idType: string, idDefault: string): Tables => ({
  schema,
  job: `${schema}.job`,
  jobBlocker: `${schema}.job_blocker`,
  jobAttempt: `${schema}.job_attempt`,
  jobType: `${schema}.job_type`,
  recurring: `${schema}.recurring_job`,
  limitEpoch: `${schema}.limit_epoch`,
  limitRule: `${schema}.limit_rule`,
  limitUsage: `${schema}.limit_usage`,
  limitDelta: `${schema}.limit_delta`,
  limitEdit: `${schema}.limit_edit`,
  groupState: `${schema}.group_state`,
  process: `${schema}.process`,
  statisticsBucket: `${schema}.statistics_bucket`,
  failureCause: `${schema}.failure_cause`,
  migration: `${schema}.migration`,
  idType,
  idDefault,
});
