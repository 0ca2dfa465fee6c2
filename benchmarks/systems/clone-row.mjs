// Fills a table with copies of a row that the system wrote itself, so that the copies look like what it would write.

/**
 * @param {import("pg").Client} client
 * @param {{ table: string, count: number, where?: string, replace?: Record<string, string> }} options `table` with its
 *   schema; `replace` maps columns to SQL expressions. Identity and generated columns fill themselves; what the
 *   expression `fresh_id` stands for is a new UUID per copy.
 */
export const cloneRow = async (client, { table, count, where = "true", replace = {} }) => {
  const [schema, name] = table.split(".");
  const { rows } = await client.query(
    `select column_name from information_schema.columns
     where table_schema = $1 and table_name = $2 and is_generated = 'NEVER' and is_identity = 'NO'
     order by ordinal_position`,
    [schema, name],
  );
  const columns = rows.map(({ column_name: column }) => column);
  const values = columns.map((column) => replace[column] ?? `template."${column}"`);
  await client.query(
    `insert into ${table} (${columns.map((column) => `"${column}"`).join(", ")})
     select ${values.join(", ")}
     from (select * from ${table} where ${where} limit 1) template,
          (select uuidv7() as fresh_id, n from generate_series(1, ${count - 1}) n) copy`,
  );
};
