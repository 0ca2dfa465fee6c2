import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "@leasehold/test-servers";
import { cloneRow } from "../../benchmarks/systems/clone-row.mjs";

const load = (root, name) => import(join(root, "packages", name, "dist/index.js"));

/** Creates the tables and copies a finished job until an index takes a while to build. */
const fill = async (pool, root, kept) => {
  const { createPgPoolStateProvider, createPgStateAdapter } = await load(root, "postgres");
  const { createLeasehold, defineUnionJobTypes } = await load(root, "core");
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  const { id } = await leasehold.startJobSequence({ typeName: "kept", input: 0, schedule: { afterMs: 1 } });
  await leasehold.completeJobSequence({
    id,
    typeName: "kept",
    complete: ({ job, complete }) => complete(job, async () => 0),
  });
  await leasehold.close?.();
  await stateAdapter.close();
  const replace = { id: "copy.fresh_id", sequence_id: "copy.fresh_id", root_sequence_id: "copy.fresh_id" };
  await cloneRow(pool, { table: "leasehold.job", count: kept, where: "type_name = 'kept'", replace });
  await pool.query("VACUUM ANALYZE leasehold.job");
  await pool.query("CREATE TABLE delivery (job_id uuid NOT NULL)");
};

// Only a migration makes statements wait for a lock of a relation.
const waitsSql = `
  SELECT max(extract(epoch FROM clock_timestamp() - waitstart) * 1000) AS ms
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE NOT granted AND locktype = 'relation' AND application_name NOT LIKE '%migration%'`;

export const openPostgres = async ({ root, kept }) => {
  const server = await startPostgres({ settings: { max_connections: "200" } });
  const pool = new pg.Pool({ connectionString: server.url, application_name: "judge" });
  const ask = async (sql) => (await pool.query(sql)).rows;
  const askOne = async (sql) => Object.values((await ask(sql))[0])[0];
  await fill(pool, root, kept);
  return {
    address: server.url,
    describe: () => `${kept} jobs kept`,
    isMigrating: async () => (await ask("SELECT FROM pg_stat_progress_create_index")).length > 0,
    watchLocks: () => {
      let longest = 0;
      let stopped = false;
      const look = async () => {
        while (!stopped) {
          longest = Math.max(longest, Number((await askOne(waitsSql)) ?? 0));
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const looking = look();
      return {
        stop: async () => {
          stopped = true;
          await looking;
          return Math.round(longest);
        },
      };
    },
    untilDone: async () => {
      const endAt = Date.now() + 120_000;
      const unfinished = "SELECT count(*) FROM leasehold.job WHERE status NOT IN ('completed', 'failed')";
      while (Number(await askOne(unfinished)) > 0 && Date.now() < endAt)
        await new Promise((resolve) => setTimeout(resolve, 200));
    },
    readOutcome: async () => ({
      statuses: new Map(
        (await ask("SELECT id, status FROM leasehold.job WHERE type_name <> 'kept'")).map(
          ({ id, status }) => [id, status],
        ),
      ),
      unfinished: Number(
        await askOne("SELECT count(*) FROM leasehold.job WHERE status NOT IN ('completed', 'failed')"),
      ),
      failed: Number(await askOne("SELECT count(*) FROM leasehold.job WHERE status = 'failed'")),
      shipped: Number(
        await askOne("SELECT count(*) FROM leasehold.job WHERE type_name = 'ship' AND status = 'completed'"),
      ),
      deliveries: Number(await askOne("SELECT count(*) FROM delivery")),
      delivered: Number(await askOne("SELECT count(DISTINCT job_id) FROM delivery")),
      workers: (
        await ask("SELECT DISTINCT completed_by AS name FROM leasehold.job WHERE type_name <> 'kept'")
      ).map(({ name }) => name ?? ""),
      isMigrated:
        (await askOne("SELECT count(*) FROM leasehold.migration")) === "3" &&
        (await askOne("SELECT prosrc FROM pg_proc WHERE proname = 'limit_claim'")).includes("-- replaced"),
      invalidIndexes: Number(await askOne("SELECT count(*) FROM pg_index WHERE NOT indisvalid")),
    }),
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
};
