import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";

const load = (root, name) => import(join(root, "packages", name, "dist/index.js"));

/** @returns the same as `openPostgres`, for a file. */
export const openSqlite = async ({ root }) => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-upgrade-"));
  const file = join(folder, "jobs.db");
  const { createSqliteStateAdapter } = await load(root, "sqlite");
  await (await createSqliteStateAdapter({ file })).close();
  const db = new Database(file);
  db.exec("PRAGMA busy_timeout = 10000");
  db.exec("CREATE TABLE delivery (job_id TEXT NOT NULL)");
  const ask = (sql) => db.prepare(sql).all();
  const count = (sql) => Number(Object.values(ask(sql)[0])[0]);
  const unfinished = () =>
    count("SELECT count(*) FROM leasehold_job WHERE status NOT IN ('completed', 'failed')");
  return {
    address: file,
    describe: () => "a file",
    // A migration of a file is one transaction and takes a moment: it is killed as soon as it has begun.
    isMigrating: () => true,
    // Writers of a file always wait for each other.
    watchLocks: () => ({ stop: async () => 0 }),
    untilDone: async () => {
      const endAt = Date.now() + 120_000;
      while (unfinished() > 0 && Date.now() < endAt) await new Promise((resolve) => setTimeout(resolve, 200));
    },
    readOutcome: async () => ({
      statuses: new Map(ask("SELECT id, status FROM leasehold_job").map(({ id, status }) => [id, status])),
      unfinished: unfinished(),
      failed: count("SELECT count(*) FROM leasehold_job WHERE status = 'failed'"),
      shipped: count("SELECT count(*) FROM leasehold_job WHERE type_name = 'ship' AND status = 'completed'"),
      deliveries: count("SELECT count(*) FROM delivery"),
      delivered: count("SELECT count(DISTINCT job_id) FROM delivery"),
      workers: ask("SELECT DISTINCT completed_by AS name FROM leasehold_job").map(({ name }) => name ?? ""),
      isMigrated:
        count("SELECT count(*) FROM pragma_table_info('leasehold_job') WHERE name = 'next_column'") === 1,
      invalidIndexes: 0,
    }),
    close: async () => {
      db.close();
      await rm(folder, { recursive: true });
    },
  };
};
