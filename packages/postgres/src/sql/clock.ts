/** The present in milliseconds: that of the call, if this parameter is not null, or else the clock of the server. */
export const nowSql = (parameter: string): string =>
  `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/** The first `WITH` query of a statement, so that all of it has the same present. */
export const clockCte = (parameter: string): string =>
  `clock AS MATERIALIZED (SELECT ${nowSql(parameter)} AS now)`;

export const now = "(SELECT now FROM clock)";
