import { setTimeout as sleep } from "node:timers/promises";
import type { NewJob } from "leasehold/adapter";
import type { Context, Database } from "../database.ts";
import type { SqlRow } from "../provider.ts";
import { isAmongLines, queueTypeNumber } from "../queue-types.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import type { Tables } from "../tables.ts";
import { assertEnabled } from "./flow-cache.ts";

interface NewType {
  readonly queue: string;
  readonly typeName: string;
  readonly hasGroups: boolean;
}

/** The types that others have to know of before these jobs are there, and may not yet. */
const findNewTypes = ({ flow }: Database, jobs: readonly NewJob[]): NewType[] => {
  const found = new Map<string, NewType>();
  let last: NewJob | undefined;
  for (const job of jobs) {
    const { queue, typeName, group } = job;
    const hasGroups = group !== null;
    // Most calls are about one type.
    if (
      last !== undefined &&
      last.queue === queue &&
      last.typeName === typeName &&
      (last.group !== null) === hasGroups
    )
      continue;
    last = job;
    // A search for types stops before the numbers of lines. A type whose own number happens to be there has to be known.
    if (!hasGroups && !isAmongLines(queueTypeNumber(queue, typeName))) continue;
    const known = flow.queue(queue)?.types.get(typeName);
    if (known !== undefined && (known.hasGroups || !hasGroups)) continue;
    const key = JSON.stringify([queue, typeName]);
    found.set(key, { queue, typeName, hasGroups: hasGroups || (found.get(key)?.hasGroups ?? false) });
  }
  return [...found.values()];
};

const registerSql = ({ flow, flowRule }: Tables): string => `
WITH written AS (
  INSERT INTO ${flowRule} AS r (queue, home, type_name, has_groups)
  SELECT t.queue, t.home, t.type_name, t.has_groups
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) AS t (queue, home, type_name, has_groups)
  WHERE NOT t.has_groups OR (SELECT enabled FROM ${flow})
  ORDER BY t.queue, t.home
  ON CONFLICT (queue, home) DO UPDATE SET has_groups = true WHERE excluded.has_groups AND NOT r.has_groups
  RETURNING 1
),
raised AS (UPDATE ${flow} SET epoch = epoch + 1 WHERE EXISTS (SELECT FROM written))
SELECT enabled FROM ${flow}`;

// No second connection is free if every connection of the pool is held by a transaction that waits for one.
const longestWaitMs = 2_000;

/**
 * In a transaction of its own: the caller's may take long, and everybody else who starts the first group of a type, or edits
 * a rule, would wait for it.
 */
const registerOutside = async (
  database: Database,
  register: (ctx: Context | undefined) => Promise<readonly SqlRow[]>,
  ctx: Context,
): Promise<readonly SqlRow[]> => {
  if (database.hasSingleConnection) return register(ctx);
  const done = new AbortController();
  const giveUp = sleep(longestWaitMs, undefined, { signal: done.signal }).then(
    () => undefined,
    () => undefined,
  );
  try {
    return (await Promise.race([register(undefined), giveUp])) ?? (await register(ctx));
  } finally {
    done.abort();
  }
};

/** Makes known which types have groups, before the first of them is stored. */
const registerTypes = async (
  database: Database,
  ctx: Context | undefined,
  types: readonly NewType[],
): Promise<void> => {
  const params = [
    arrayLiteral(types.map(({ queue }) => queue)),
    arrayLiteral(types.map(({ queue, typeName }) => queueTypeNumber(queue, typeName))),
    arrayLiteral(types.map(({ typeName }) => typeName)),
    arrayLiteral(types.map(({ hasGroups }) => hasGroups)),
  ];
  const register = (own: Context | undefined): Promise<readonly SqlRow[]> =>
    database.query(own, { sql: registerSql(database.tables), params });
  const [row] = ctx === undefined ? await register(ctx) : await registerOutside(database, register, ctx);
  if (types.some(({ hasGroups }) => hasGroups)) assertEnabled(row);
  await database.flow.load(database.hasSingleConnection ? ctx : undefined);
};

/** What has to be done before these jobs are stored; undefined when there is nothing, as for nearly all. */
export const registrationFor = (
  database: Database,
  ctx: Context | undefined,
  jobs: readonly NewJob[],
): Promise<void> | undefined => {
  const types = findNewTypes(database, jobs);
  return types.length === 0 ? undefined : registerTypes(database, ctx, types);
};
