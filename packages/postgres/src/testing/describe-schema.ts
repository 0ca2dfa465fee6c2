import type pg from "pg";

/** What a schema consists of, read from the catalogs and with the schema's own name left out. */
export type SchemaDescription = Record<string, readonly string[]>;

const queries: Record<string, string> = {
  columns: `SELECT format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
      CASE WHEN a.attidentity <> '' THEN ' IDENTITY' ELSE '' END,
      coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
      || CASE WHEN a.attcollation NOT IN (0, 100) THEN ' COLLATE ' || (a.attcollation::regcollation)::text ELSE '' END) AS line
    FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' ORDER BY c.relname, a.attnum`,
  indexes: `SELECT pg_get_indexdef(i.indexrelid) AS line FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = $1::regnamespace ORDER BY c.relname`,
  // Newer servers count NOT NULL among the constraints; the columns say it already.
  constraints: `SELECT format('%s %s', conname, pg_get_constraintdef(oid)) AS line FROM pg_constraint
    WHERE connamespace = $1::regnamespace AND contype <> 'n' ORDER BY conname`,
  types: `SELECT format('%s AS ENUM (%s)', t.typname, string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder)) AS line
    FROM pg_type AS t JOIN pg_enum AS e ON e.enumtypid = t.oid
    WHERE t.typnamespace = $1::regnamespace GROUP BY t.typname ORDER BY t.typname`,
  options: `SELECT format('%s %s', c.relname, option) AS line FROM pg_class AS c, unnest(c.reloptions) AS option
    WHERE c.relnamespace = $1::regnamespace ORDER BY c.relname, option`,
  // With a digest of the body, so that a change of a released function does not go unnoticed.
  functions: `SELECT p.oid::regprocedure::text || ' ' || md5(replace(p.prosrc, ($1::regnamespace)::text, '')) AS line FROM pg_proc AS p
    WHERE p.pronamespace = $1::regnamespace ORDER BY 1`,
  triggers: `SELECT pg_get_triggerdef(t.oid) AS line FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
    WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal ORDER BY t.tgname`,
};

export const describeSchema = async (pool: pg.Pool, schema: string): Promise<SchemaDescription> => {
  const description: SchemaDescription = {};
  for (const [part, sql] of Object.entries(queries)) {
    const { rows } = await pool.query<{ line: string }>(sql, [schema]);
    description[part] = rows.map(({ line }) => line.replaceAll(`${schema}.`, ""));
  }
  return description;
};
