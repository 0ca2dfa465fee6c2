import type pg from "pg";

/**
 * Copies every job of the schema so many times, each copy with a new id: a large table in seconds, whatever its columns
 * are. The jobs must be first jobs of their sequences, without blockers or keys.
 */
export const multiplyJobs = async (pool: pg.Pool, schema: string, copies: number): Promise<void> => {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
      AND attidentity = '' AND attgenerated = ''`,
    [`${schema}.job`],
  );
  const ids = new Set(["id", "sequence_id", "root_sequence_id"]);
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => (ids.has(name) ? "copy.id" : `job.${name}`));
  await pool.query(
    `INSERT INTO ${schema}.job (${names.join(", ")}) SELECT ${values.join(", ")} FROM ${schema}.job AS job
      CROSS JOIN LATERAL (SELECT gen_random_uuid(), job.id FROM generate_series(1, $1)) AS copy (id, original_id)`,
    [copies],
  );
};
