import type { JobFilter } from "leasehold/adapter";
import type { SqlStatement } from "../database/provider.ts";
import { arrayLiteral } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** The recurring job in the text that core has written, as it is indexed. */
const recurringJobId = `((j.recurrence::jsonb ->> 'id') COLLATE "C")`;

const uuidLength = 36;

/** The first or the last UUID that begins with a text. */
const uuidBound = (prefix: string, digit: "0" | "f"): string =>
  prefix + "00000000-0000-0000-0000-000000000000".slice(prefix.length, uuidLength).replaceAll("0", digit);

type Param = SqlStatement["params"][number];

/** The conditions of a filter on the table `j`, with their parameters. There is always at least one. */
export const filterConditions = (
  { schema, idType }: Tables,
  isId: (value: string) => boolean,
  filter: JobFilter,
): { readonly conditions: string[]; readonly params: Param[] } => {
  const conditions: string[] = ["true"];
  const params: Param[] = [];
  const add = (value: Param | undefined, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    params.push(value);
    conditions.push(condition(`$${params.length}`));
  };
  const oneOf = (values: readonly string[] | undefined, column: string, type = "text"): void =>
    add(values && arrayLiteral(values), (list) => `j.${column} = ANY (${list}::${type}[])`);
  // An index has the order of a page only for a comparison with one value.
  const among = (values: readonly string[] | undefined, column: string): void => {
    if (values?.length === 1) add(values[0], (value) => `${column} = ${value}::text`);
    else add(values && arrayLiteral(values), (list) => `${column} = ANY (${list}::text[])`);
  };
  const ofFamily = (id: string | undefined, column: string, further: string): void =>
    add(
      id === undefined || isId(id) ? id : null,
      (head) =>
        `((j.id = ${head}::${idType} AND j.${column} = j.id) OR (j.${column} = ${head}::${idType} AND ${further}))`,
    );
  const within = (from: number | undefined, before: number | undefined, column: string): void => {
    add(from, (time) => `j.${column} >= ${time}::bigint`);
    add(before, (time) => `j.${column} < ${time}::bigint`);
  };

  oneOf(filter.ids?.filter(isId), "id", idType);
  if (filter.idPrefix !== undefined) {
    const [first, last] = [uuidBound(filter.idPrefix, "0"), uuidBound(filter.idPrefix, "f")];
    if (idType !== "uuid") add(filter.idPrefix, (prefix) => `starts_with(j.id::text, ${prefix}::text)`);
    else if (!isId(first)) conditions.push("false");
    else {
      add(first, (id) => `j.id >= ${id}::uuid`);
      add(last, (id) => `j.id <= ${id}::uuid`);
    }
  }
  oneOf(filter.statuses, "status", `${schema}.job_status`);
  oneOf(filter.queues, "queue");
  oneOf(filter.typeNames, "type_name");
  oneOf(filter.sequenceTypeNames, "sequence_type_name");
  oneOf(filter.deduplicationKeys, "deduplication_key");
  among(filter.groups, "j.group_key");
  among(filter.recurringJobIds, recurringJobId);
  oneOf(filter.failureReasons, "failure_reason");
  oneOf(filter.fingerprints, "fingerprint");
  oneOf(filter.leasedBy, "leased_by");
  // The conditions of the indexes: no other jobs have these values.
  if (filter.fingerprints !== undefined) conditions.push("j.status = 'failed'", "j.fingerprint IS NOT NULL");
  if (filter.leasedBy !== undefined) conditions.push("j.status = 'running'");
  if (filter.recurringJobIds !== undefined) conditions.push("j.recurrence IS NOT NULL");
  // The indexes lack the first job of a sequence and the root of a tree: these are found by their ids.
  ofFamily(filter.sequenceId, "sequence_id", "j.sequence_index > 0");
  ofFamily(filter.rootSequenceId, "root_sequence_id", "j.root_sequence_id <> j.id");
  if (filter.firstOf === "sequence") conditions.push("j.sequence_id = j.id");
  if (filter.firstOf === "tree") conditions.push("j.root_sequence_id = j.id");
  add(filter.inputContains, (text) => `strpos(j.input, ${text}::text) > 0`);
  within(filter.createdFrom, filter.createdBefore, "created_at");
  within(filter.scheduledFrom, filter.scheduledBefore, "scheduled_at");
  within(filter.finishedFrom, filter.finishedBefore, "finished_at");
  if (filter.finishedFrom !== undefined || filter.finishedBefore !== undefined)
    conditions.push("j.finished_at > 0");
  return { conditions, params };
};
