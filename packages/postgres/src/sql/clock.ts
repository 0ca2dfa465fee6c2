/** The present in milliseconds: the call's own if it brought one as this parameter, else the server's. */
export const nowSql = (parameter: string): string =>
  `coalesce(${parameter}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;

/** A first `WITH` query, so that one statement has one present. */
export const clockCte = (parameter: string): string =>
  `clock AS MATERIALIZED (SELECT ${nowSql(parameter)} AS now)`;

export const now = "(SELECT now FROM clock)";
