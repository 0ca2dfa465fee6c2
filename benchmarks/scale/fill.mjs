// Fills a store with copies of jobs that Leasehold wrote itself, by one statement each: a million jobs in seconds.

/** How long ago the oldest job was created. */
export const spanMs = 30 * 86_400_000;

const types = ["mail", "invoice", "resize", "import", "sync"];
const week = 7 * 86_400_000;

/** What operators meet in a store that has been in use for a month. */
const usualShares = { completed: 0.98, failed: 0.01, later: 0.005, runnable: 0.005 };

/** One job of each type in each state, and which share of all jobs are to be copies of it. */
const startTemplates = async (leasehold, shares) => {
  const start = (typeName, options = {}) =>
    leasehold.startJobSequence({ typeName, input: { n: 1, email: "user-1@example.com" }, ...options });
  const later = (typeName) => start(typeName, { schedule: { afterMs: week } });
  const states = {
    completed: async (typeName) => {
      const { id } = await later(typeName);
      await leasehold.completeJobSequence({
        id,
        typeName,
        complete: ({ job, complete }) => complete(job, async () => null),
      });
      return { id };
    },
    failed: async (typeName) => {
      const { id } = await later(typeName);
      await leasehold.jobs.cancel({ ids: [id] });
      return { id };
    },
    later,
    runnable: start,
    blocked: async (typeName) => {
      const blocker = await later(typeName);
      const { id } = await start(typeName, { startBlockers: () => [blocker] });
      return { id, blockerId: blocker.id };
    },
  };
  const templates = [];
  for (const typeName of types)
    for (const [state, share] of Object.entries(shares))
      templates.push({ ...(await states[state](typeName)), share: share / types.length });
  return templates;
};

const idColumns = new Set(["id", "sequence_id", "root_sequence_id"]);
const timeColumns = new Set(["created_at", "sequence_created_at"]);
const finishColumns = new Set(["finished_at", "completed_at", "failed_at"]);

/** The columns of a copy: ids and times of its own, everything else as the template has it. */
const valuesOf = (columns, { id, createdAt }) =>
  columns.map((column) => {
    if (idColumns.has(column)) return id;
    if (timeColumns.has(column)) return createdAt;
    if (finishColumns.has(column))
      return `CASE WHEN t.${column} > 0 THEN ${createdAt} + 50 ELSE t.${column} END`;
    return `t.${column}`;
  });

/** @param {{ columns: string[], table: string, blockers: string, series: (count: number) => string, id: string, run: (sql: string) => unknown }} store */
const fill = async (leasehold, jobs, shares, store) => {
  const now = Date.now();
  for (const { id, blockerId, share } of await startTemplates(leasehold, shares)) {
    const count = Math.ceil(jobs * share);
    const createdAt = `${now - spanMs} + (n.n * ${spanMs - 1} / ${count})`;
    const values = valuesOf(store.columns, { id: "n.id", createdAt: "n.created_at" });
    // The limit keeps SQLite from working out an id anew wherever it stands.
    await store.run(
      `INSERT INTO ${store.table} (${store.columns.join(", ")}) SELECT ${values.join(", ")}
       FROM ${store.table} AS t CROSS JOIN (SELECT n.created_at, ${store.id} AS id FROM (
         SELECT CAST(${createdAt} AS ${store.integer}) AS created_at FROM ${store.series(count)}
       ) AS n LIMIT ${count}) AS n WHERE t.id = '${id}'`,
    );
    if (blockerId !== undefined)
      await store.run(
        `INSERT INTO ${store.blockers} (job_id, blocker_index, sequence_id)
         SELECT j.id, 0, '${blockerId}' FROM ${store.table} AS j
         WHERE j.status = 'blocked' AND NOT EXISTS (SELECT 1 FROM ${store.blockers} AS b WHERE b.job_id = j.id)`,
      );
  }
};

export const fillPostgres = async (client, leasehold, jobs, shares = usualShares) => {
  const { rows } = await client.query(
    `SELECT attname FROM pg_attribute WHERE attrelid = 'leasehold.job'::regclass AND attnum > 0 AND NOT attisdropped
       AND attidentity = ''`,
  );
  const hex = "lpad(to_hex(n.created_at), 12, '0')";
  await fill(leasehold, jobs, shares, {
    columns: rows.map(({ attname }) => attname),
    table: "leasehold.job",
    blockers: "leasehold.job_blocker",
    integer: "bigint",
    series: (count) => `generate_series(1::bigint, ${count}) AS n (n)`,
    id: `(substr(${hex}, 1, 8) || '-' || substr(${hex}, 9) || '-7' || substr(gen_random_uuid()::text, 16))::uuid`,
    run: (sql) => client.query(sql),
  });
};

export const fillSqlite = async (db, leasehold, jobs, shares = usualShares) => {
  const columns = db
    .prepare("PRAGMA table_info(leasehold_job)")
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== "seq");
  const hex = "printf('%012x', n.created_at)";
  const random = (digits) => `substr(lower(hex(randomblob(6))), 1, ${digits})`;
  await fill(leasehold, jobs, shares, {
    columns,
    table: "leasehold_job",
    blockers: "leasehold_job_blocker",
    integer: "INTEGER",
    series: (count) =>
      `(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s) AS n`,
    id: `substr(${hex}, 1, 8) || '-' || substr(${hex}, 9) || '-7' || ${random(3)} || '-8' || ${random(3)} || '-' || ${random(12)}`,
    run: (sql) => db.exec(sql),
  });
};
