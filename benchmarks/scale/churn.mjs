// A day of jobs in minutes: each turn starts some, runs them and prunes as many of the oldest. The table should neither grow
// nor slow down, with nobody but autovacuum to look after it.
import { readServerCpu } from "../process-cpu.mjs";
import { bulkChunk } from "../settings.mjs";
import { spanMs } from "./fill.mjs";

const jobsPerTurn = 20_000;
const reportedTurns = 10;
const typeName = "churn";

const number = (value) => Math.round(value).toLocaleString("en");

const start = async (leasehold) => {
  for (let from = 0; from < jobsPerTurn; from += bulkChunk)
    await leasehold.startJobSequences({
      sequences: Array.from({ length: bulkChunk }, (_, n) => ({ typeName, input: { n: from + n } })),
    });
};

/** A worker that is waited for in turns. */
const openWorker = async (leasehold) => {
  let left = 0;
  let onAll;
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName,
      process: async () => {
        left -= 1;
        if (left === 0) onAll();
        return null;
      },
    })
    .start({ concurrency: 100 });
  return {
    expect: (jobs) => {
      left = jobs;
      return new Promise((resolve) => (onAll = resolve));
    },
    stop: () => worker.stop(),
  };
};

/**
 * How old jobs may be, so that as many are kept as the table was filled with: at first the oldest of those go, and when none of
 * them is left, the jobs of the earliest turns.
 */
const ageToKeep = (gone, rows, turnsBegan) => {
  if (gone < rows) return Math.round(spanMs * (1 - gone / rows));
  const firstTurnKept = Math.ceil((gone - rows) / jobsPerTurn);
  return Date.now() - turnsBegan[firstTurnKept];
};

/** @param {{ pruned: number }} options which share of the rows that the table was filled with has been pruned before */
export const measureChurn = async ({ pool, leasehold, servers, rows, pruned, jobs, report }) => {
  const ask = async (sql) => (await pool.query(sql)).rows[0];
  const read = async () => ({
    ...(await ask(
      `SELECT pg_relation_size('leasehold.job')::float8 AS "table", pg_indexes_size('leasehold.job')::float8 AS indexes,
         pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal`,
    )),
    ...(await ask(
      `SELECT n_dead_tup::float8 AS dead, autovacuum_count::int AS vacuums FROM pg_stat_user_tables
       WHERE relid = 'leasehold.job'::regclass`,
    )),
    cpu: await readServerCpu(servers.pids.postgres),
  });
  const worker = await openWorker(leasehold);
  const turns = Math.ceil(jobs / jobsPerTurn);
  const first = await read();
  let before = first;
  let since = performance.now();
  report("     jobs   jobs/s   table   indexes   dead rows   vacuums   log a job   server CPU a job");
  const turnsBegan = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    turnsBegan.push(Date.now());
    const done = worker.expect(jobsPerTurn);
    await start(leasehold);
    await done;
    const gone = pruned * rows + turn * jobsPerTurn;
    await leasehold.jobs.prune({ olderThanMs: ageToKeep(gone, rows, turnsBegan) });
    if (turn % Math.ceil(turns / reportedTurns) !== 0 && turn !== turns) continue;
    const after = await read();
    const seconds = (performance.now() - since) / 1_000;
    const count = Math.ceil(turns / reportedTurns) * jobsPerTurn;
    const share = (name) => `${(after[name] / first[name]).toFixed(3)} ×`;
    report(
      [
        number(turn * jobsPerTurn).padStart(9),
        number(count / seconds).padStart(8),
        share("table").padStart(8),
        share("indexes").padStart(9),
        number(after.dead).padStart(11),
        String(after.vacuums - first.vacuums).padStart(9),
        `${number((after.wal - before.wal) / count)} B`.padStart(11),
        `${number(((after.cpu - before.cpu) / count) * 1e6)} µs`.padStart(18),
      ].join(" "),
    );
    before = after;
    since = performance.now();
  }
  await worker.stop();
};
