import type { JobCount } from "leasehold/adapter";
import { indexFor, toCondition } from "../job-filter.ts";
import type { Operation } from "../operation.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

const countRow = defineRow((columns): JobCount => ({
  queue: columns.value("j.queue"),
  typeName: columns.value("j.type_name"),
  status: columns.value("j.status"),
  count: columns.value("count(*)"),
}));

export const prepareCountJobs =
  (tables: Tables): Operation<"countJobs"> =>
  (db, { filter }) => {
    const { sql, values } = toCondition(filter);
    const count = `SELECT ${countRow.columns} FROM ${tables.job} AS j ${indexFor(filter, tables)}
      WHERE ${sql} GROUP BY j.queue, j.type_name, j.status`;
    return countRow.all(db, count, values);
  };
