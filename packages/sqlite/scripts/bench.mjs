// Compares Leasehold with a bare SQLite loop. Both run on the same machine, with the same driver, settings and batch size:
// compare the ratios with those of another machine, not the rates.
//
//   npm run build && node packages/sqlite/scripts/bench.mjs [--jobs 50000] [--batch 100,500] [--ballast 500000] [--driver libsql]
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const input = JSON.stringify({ to: "someone@example.com", template: "welcome" });

const inFolder = async (use) => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
  try {
    return await use(join(folder, "jobs.db"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const rate = (count, ms) => Math.round((count / ms) * 1_000);
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const openBare = (driver, file) => {
  const require = createRequire(import.meta.url);
  const Database = driver === "node:sqlite" ? require("node:sqlite").DatabaseSync : require(driver);
  const db = new Database(file);
  for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "cache_size = -16384"])
    db.exec(`PRAGMA ${pragma}`);
  return db;
};

/** A queue written by hand: a narrow table, one index, a token for each batch. */
const runBare = (driver, jobs, batch) =>
  inFolder(async (file) => {
    const db = openBare(driver, file);
    db.exec(`CREATE TABLE job (id INTEGER PRIMARY KEY, status TEXT, queue TEXT, priority INTEGER, scheduled_at INTEGER,
      token TEXT, leased_until INTEGER, attempt INTEGER, input TEXT, output TEXT);
      CREATE INDEX job_pending ON job (queue, priority DESC, scheduled_at) WHERE status = 'pending'`);
    const insert = db.prepare(
      "INSERT INTO job (status, queue, priority, scheduled_at, attempt, input) VALUES ('pending', ?, 0, ?, 0, ?)",
    );
    const claim =
      db.prepare(`UPDATE job SET status = 'running', token = ?, leased_until = ?, attempt = attempt + 1
      WHERE id IN (SELECT id FROM job WHERE status = 'pending' AND queue = ? AND scheduled_at <= ?
        ORDER BY priority DESC, scheduled_at, id LIMIT ?) RETURNING id, input`);
    const complete = db.prepare(`UPDATE job SET status = 'completed', output = 'null'
      WHERE id IN (SELECT value FROM json_each(?)) AND status = 'running' AND token = ? AND leased_until > ?`);

    const inserting = performance.now();
    for (let done = 0; done < jobs; done += batch) {
      db.exec("BEGIN IMMEDIATE");
      for (let index = 0; index < batch; index += 1) insert.run("default", Date.now(), input);
      db.exec("COMMIT");
    }
    const start = rate(jobs, performance.now() - inserting);

    const draining = performance.now();
    for (let done = 0; done < jobs;) {
      const token = randomUUID();
      db.exec("BEGIN IMMEDIATE");
      const rows = claim.all(token, Date.now() + 30_000, "default", Date.now(), batch);
      db.exec("COMMIT");
      for (const row of rows) JSON.parse(row.input);
      db.exec("BEGIN IMMEDIATE");
      complete.run(JSON.stringify(rows.map(({ id }) => id)), token, Date.now());
      db.exec("COMMIT");
      done += rows.length;
    }
    const drain = rate(jobs, performance.now() - draining);
    db.close();
    return { start, drain };
  });

const startMany = async (leasehold, jobs, batch, options = {}) => {
  for (let done = 0; done < jobs; done += batch) {
    const sequences = Array.from({ length: batch }, () => ({
      typeName: "mail",
      input: JSON.parse(input),
      ...options,
    }));
    await leasehold.startJobSequences({ sequences });
  }
};

/** From the worker's start to the last commit, through all of core. */
const drainWithWorker = async (leasehold, stateAdapter, jobs, batch) => {
  let settle;
  const drained = new Promise((resolve) => (settle = resolve));
  let committed = 0;
  const { commitOutcomes } = stateAdapter;
  stateAdapter.commitOutcomes = async (call) => {
    const results = await commitOutcomes(call);
    committed += results.length;
    if (committed >= jobs) settle();
    return results;
  };
  const startedAt = performance.now();
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "mail", process: async () => null })
    .start({ concurrency: batch, prefetch: batch, commitBatchSize: batch });
  await drained;
  const elapsed = performance.now() - startedAt;
  await worker.stop();
  stateAdapter.commitOutcomes = commitOutcomes;
  return rate(jobs, elapsed);
};

/** The same calls as the bare loop makes, on the adapter alone. */
const drainWithAdapter = async (adapter, jobs, batch) => {
  const startedAt = performance.now();
  for (let done = 0; done < jobs;) {
    const claimed = await adapter.claimJobs({
      workerId: "bench",
      leaseToken: randomUUID(),
      leaseMs: 30_000,
      requests: [{ queue: "default", typeNames: ["mail"], limit: batch }],
      limit: batch,
    });
    const outcomes = claimed.map(({ id, leaseToken }) => ({
      kind: "complete",
      jobId: id,
      leaseToken,
      output: "null",
      continuedToId: null,
      completedBy: "bench",
    }));
    await adapter.commitOutcomes({ outcomes });
    done += claimed.length;
  }
  return rate(jobs, performance.now() - startedAt);
};

const withLeasehold = (driver, use) =>
  inFolder(async (file) => {
    const stateAdapter = await createSqliteStateAdapter({ file, driver });
    const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
    try {
      return await use(leasehold, stateAdapter);
    } finally {
      await stateAdapter.close();
    }
  });

const runLeasehold = (driver, jobs, batch, prepare = async () => {}) =>
  withLeasehold(driver, async (leasehold, stateAdapter) => {
    await prepare(leasehold, stateAdapter);
    const starting = performance.now();
    await startMany(leasehold, jobs, batch);
    const start = rate(jobs, performance.now() - starting);
    const drain = await drainWithWorker(leasehold, stateAdapter, jobs, batch);
    await startMany(leasehold, jobs, batch);
    return { start, drain, adapter: await drainWithAdapter(stateAdapter, jobs, batch) };
  });

const ballasts = {
  completed: async (leasehold, stateAdapter, count) => {
    await startMany(leasehold, count, 1_000);
    await drainWithAdapter(stateAdapter, count, 1_000);
  },
  "scheduled for later": (leasehold, _stateAdapter, count) =>
    startMany(leasehold, count, 1_000, { schedule: { afterMs: 3_600_000 } }),
  "of other types": (leasehold, _stateAdapter, count) =>
    startMany(leasehold, count, 1_000, { typeName: "other" }),
};

const medianOf = (runs) =>
  Object.fromEntries(Object.keys(runs[0]).map((key) => [key, median(runs.map((result) => result[key]))]));

const repeat = async (repetitions, ...contenders) => {
  const runs = contenders.map(() => []);
  // Alternating, so that other load on the machine affects all of them.
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    for (const [index, run] of contenders.entries()) runs[index].push(await run());
  }
  return runs.map(medianOf);
};

/**
 * Measures bulk start and drain with and without Leasehold. With `ballast`, also the drain with so many jobs retained,
 * scheduled for later, or of other types. `report` gets a line of text for every result; the return value has the numbers.
 */
export const runSqliteBench = async ({
  jobs = 50_000,
  batch = 100,
  ballast = 0,
  driver = "libsql",
  repetitions = 3,
  report = () => {},
} = {}) => {
  // The first run pays for compilation.
  await runBare(driver, 5_000, batch);
  await runLeasehold(driver, 5_000, batch);

  const [bare, own] = await repeat(
    repetitions,
    () => runBare(driver, jobs, batch),
    () => runLeasehold(driver, jobs, batch),
  );
  const ratios = {
    start: own.start / bare.start,
    drain: own.drain / bare.drain,
    adapter: own.adapter / bare.drain,
  };
  const line = (name, value, limit) =>
    `${name.padEnd(40)} ${value.toLocaleString("en-US").padStart(9)}/s  ${(value / limit).toFixed(2)} x bare (${limit.toLocaleString("en-US")}/s)`;
  report(line(`bulk start, batch ${batch}`, own.start, bare.start));
  report(line(`drain by a worker, batch ${batch}`, own.drain, bare.drain));
  report(line(`drain by adapter calls, batch ${batch}`, own.adapter, bare.drain));

  const retained = {};
  for (const [name, fill] of ballast > 0 ? Object.entries(ballasts) : []) {
    const [empty, loaded] = await repeat(
      repetitions,
      () => runLeasehold(driver, jobs, batch),
      () =>
        runLeasehold(driver, jobs, batch, (leasehold, stateAdapter) =>
          fill(leasehold, stateAdapter, ballast),
        ),
    );
    retained[name] = {
      drain: loaded.drain / empty.drain,
      adapter: loaded.adapter / empty.adapter,
      start: loaded.start / empty.start,
    };
    report(
      `with ${ballast.toLocaleString("en-US")} ${name}: start ${retained[name].start.toFixed(2)}, ` +
        `drain ${retained[name].drain.toFixed(2)}, adapter calls ${retained[name].adapter.toFixed(2)} x an empty store`,
    );
  }
  return { bare, own, ratios, retained };
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({
    options: {
      jobs: { type: "string", default: "50000" },
      batch: { type: "string", default: "100,500" },
      ballast: { type: "string", default: "0" },
      driver: { type: "string", default: "libsql" },
      repetitions: { type: "string", default: "3" },
    },
  });
  for (const batch of values.batch.split(",").map(Number)) {
    await runSqliteBench({
      jobs: Number(values.jobs),
      batch,
      ballast: Number(values.ballast),
      driver: values.driver,
      repetitions: Number(values.repetitions),
      report: (text) => process.stdout.write(`${text}\n`),
    });
  }
}
