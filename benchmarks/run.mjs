// Leasehold beside other job queues, on this machine, in one run.
//
//   npm run bench -- [--quick] [--only NAME,…] [--rows N] [--repetitions N] [--json FILE] [--svg FILE] [--from FILE]
//
// See README.md for what it measures and how.
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { drawChart } from "./chart.mjs";
import { describeRun } from "./describe-run.mjs";
import { phases } from "./phases.mjs";
import { printCosts, printReport } from "./report.mjs";
import { scales } from "./settings.mjs";
import { systems } from "./systems/index.mjs";
import { startServers } from "./servers.mjs";

const usage = `npm run bench -- [options]

  --quick            one repetition of a smaller workload, within five minutes
  --only NAMES       a comma list of systems and phases; without a name of a kind, all of that kind
                     systems: ${Object.keys(systems).join(", ")}
                     phases: ${Object.keys(phases).join(", ")}
                     sqlite: Leasehold on SQLite beside a bare loop
                     scale: pruning and reading, by how many jobs are kept
                     flow: groups and rules on PostgreSQL, beside jobs without them
                     cost: CPU, statements, round trips and bytes of log for a job, beside bare SQL; only if it is named
                     fleet: 10 and 50 worker processes behind PgBouncer, by notify adapter; only if it is named
                     rows: jobs among ten million others, and the churn of a day; only if it is named
  --before DIR       measure another checkout as well, as leasehold-before: built, and with its benchmarks installed
  --delay MS         each round trip to PostgreSQL takes so much longer: a network
  --rows N           how many jobs the growth phases, or rows, put beside the measured ones
  --churn N          how many jobs rows starts, runs and prunes in the end
  --repetitions N    how often everything is measured (the report shows medians)
  --json FILE        write one JSON object a line
  --svg FILE         draw the picture there (bench-results/benchmark.svg if not said)
  --from FILE        report what an earlier run wrote with --json, without measuring
`;

const ownParts = new Set(["sqlite", "scale", "flow", "rows", "fleet", "cost"]);

/** @returns {{ systems: string[], phases: string[], sqlite: boolean, keptJobs: boolean, flow: boolean, manyRows: boolean, fleet: boolean, cost: boolean, others: boolean }} */
const choose = (only) => {
  const names = (only ?? "").split(",").filter(Boolean);
  const unknown = names.filter((name) => !(name in systems) && !(name in phases) && !ownParts.has(name));
  if (unknown.length > 0) throw new Error(`Neither a system nor a phase: ${unknown.join(", ")}\n\n${usage}`);
  const pick = (all) => {
    const picked = Object.keys(all).filter((name) => names.includes(name));
    return picked.length > 0 ? picked : Object.keys(all).filter((name) => !all[name].onlyIfNamed);
  };
  return {
    systems: pick(systems),
    phases: pick(phases),
    sqlite: names.length === 0 || names.includes("sqlite"),
    keptJobs: names.length === 0 || names.includes("scale"),
    flow: names.length === 0 || names.includes("flow"),
    manyRows: names.includes("rows"),
    fleet: names.includes("fleet"),
    cost: names.includes("cost"),
    others: names.length === 0 || (names.some((name) => !ownParts.has(name)) && !names.includes("cost")),
  };
};

const parse = () => {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean" },
      only: { type: "string" },
      repetitions: { type: "string" },
      before: { type: "string" },
      delay: { type: "string" },
      rows: { type: "string" },
      churn: { type: "string" },
      json: { type: "string" },
      svg: { type: "string" },
      from: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  const scale = { ...(values.quick ? scales.quick : scales.full) };
  if (values.repetitions !== undefined) scale.repetitions = Number(values.repetitions);
  if (values.rows !== undefined) scale.growthRows = Number(values.rows);
  if (!Number.isInteger(scale.growthRows) || scale.growthRows < 1) {
    throw new Error(`--rows is a whole number from 1 on.\n\n${usage}`);
  }
  if (!Number.isInteger(scale.repetitions) || scale.repetitions < 1) {
    throw new Error(`--repetitions is a whole number from 1 on.\n\n${usage}`);
  }
  const delayMs = values.delay === undefined ? undefined : Number(values.delay);
  if (delayMs !== undefined && !(delayMs > 0)) throw new Error(`--delay is a number of ms.\n\n${usage}`);
  const chosen = choose(values.only);
  if (values.before !== undefined) {
    process.env.LEASEHOLD_BENCH_BEFORE = resolve(values.before);
    chosen.systems = [...new Set([...chosen.systems, "leasehold-before"])];
  }
  return { ...values, scale, delayMs, ...chosen };
};

/** Another system begins each time, so that none is always first after a pause or after the same neighbour. */
const rotate = (list, by) => list.map((_, i) => list[(i + by) % list.length]);

const measureOne = async (servers, scale, system, phase) => {
  const database = await servers.newDatabase();
  try {
    const options = {
      system,
      postgresUrl: database.url,
      redisPort: servers.redisPort,
      timeoutSeconds: scale.secondsPerStep,
      counts: servers.readCounts !== undefined,
    };
    return await phases[phase].run({ servers, database, scale, system, options });
  } finally {
    await database.drop();
  }
};

const figure = ({ rate, p50, p99 }) =>
  rate === undefined ? `p50 ${p50} ms, p99 ${p99} ms` : `${Math.round(rate).toLocaleString("en")} jobs/s`;

const measureAll = async ({ scale, json, counts, delayMs, ...chosen }) => {
  const servers = await startServers({ counts, delayMs });
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => void servers.stop().finally(() => process.exit(1)));
  }
  const records = [];
  const failures = [];
  const endAt = Date.now() + (scale.secondsInAll ?? Infinity) * 1_000;
  try {
    console.log(await describeRun(servers, scale));
    for (let rep = 1; rep <= scale.repetitions; rep += 1) {
      for (const [place, phase] of chosen.phases.entries()) {
        const taking = phases[phase].systems ?? Object.keys(systems);
        for (const system of rotate(chosen.systems, rep + place).filter((name) => taking.includes(name))) {
          const label = `${rep}/${scale.repetitions} ${phase.padEnd(17)} ${system.padEnd(24)}`;
          try {
            if (Date.now() > endAt) throw new Error("no time left for it");
            const measured = await measureOne(servers, scale, system, phase);
            const record = { system, phase, rep, ...measured };
            records.push(record);
            if (json) await appendFile(json, `${JSON.stringify(record)}\n`);
            console.log(`${label} ${figure(record)}`);
          } catch (error) {
            failures.push({ system, phase, rep, error });
            console.log(`${label} failed: ${error.message}`);
          }
        }
      }
    }
  } finally {
    await servers.stop();
  }
  return { records, failures };
};

const readRecords = async (file) =>
  (await readFile(file, "utf8"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const measureSqlite = async ({ quick = false, scale: { repetitions } }) => {
  const { runSqliteBench } = await import("../packages/sqlite/scripts/bench.mjs");
  console.log("\nSQLite, beside a bare loop with the same driver, settings and batch size:\n");
  for (const batch of [100, 500]) {
    await runSqliteBench({
      jobs: quick ? 5_000 : 50_000,
      ballast: quick ? 0 : 500_000,
      batch,
      repetitions,
      report: console.log,
    });
  }
};

const measureKeptJobs = async ({ quick = false }) => {
  const { measureScale } = await import("./scale/run.mjs");
  console.log("\nPruning and reading, by how many jobs are kept:\n");
  for (const store of ["postgres", "sqlite"]) {
    const rates = [];
    for (const jobs of quick ? [20_000, 100_000] : [100_000, 1_000_000])
      rates.push(await measureScale({ store, jobs, prune: 100_000, report: console.log }));
    console.log(
      `${store.padEnd(8)} pruning among more jobs: ${(rates[1] / rates[0]).toFixed(2)} × as fast\n`,
    );
  }
};

const measureGroups = async ({ quick = false }) => {
  const { measureFlow } = await import("./flow/run.mjs");
  console.log("\nGroups and rules, beside the same loop without them:\n");
  const scale = quick
    ? { jobs: 5_000, pending: 50_000, seconds: 4 }
    : { jobs: 20_000, pending: 1_000_000, seconds: 20 };
  await measureFlow({ ...scale, report: console.log });
};

const measureManyRows = async ({ quick = false, rows, churn, repetitions }) => {
  const { measureRows } = await import("./scale/rows.mjs");
  console.log("\nJobs in an empty table and among many others:\n");
  await measureRows({
    rows: Number(rows ?? (quick ? 200_000 : 10_000_000)),
    churn: Number(churn ?? (quick ? 200_000 : 4_000_000)),
    quick,
    repetitions: repetitions === undefined ? undefined : Number(repetitions),
    report: console.log,
  });
};

const measureWorkerProcesses = async ({ quick = false }) => {
  const { measureFleets } = await import("./fleet/run.mjs");
  console.log("\nWorker processes behind PgBouncer, most of them idle, by notify adapter:\n");
  await measureFleets({ ...(quick ? { processes: [10], seconds: 5, starts: 50 } : {}), report: console.log });
};

const costPhases = [
  "start_single",
  "start_bulk",
  "drain_c10",
  "drain_c100",
  "drain_tx",
  "drain_tx_batch",
  "latency",
];

const measureCost = async ({ quick, repetitions, json, before, delayMs, phases: named }) => {
  console.log("\nWhat a job costs, beside bare SQL:\n");
  const { records, failures } = await measureAll({
    scale: {
      ...(quick ? scales.quick : scales.cost),
      ...(repetitions && { repetitions: Number(repetitions) }),
    },
    json,
    counts: true,
    delayMs,
    systems: ["leasehold", ...(before === undefined ? [] : ["leasehold-before"]), "bare-sql"],
    phases: named.length < Object.keys(phases).length ? named : costPhases,
  });
  printCosts(records);
  if (failures.length > 0) process.exitCode = 1;
};

const main = async () => {
  const options = parse();
  if (options.help) return console.log(usage);
  if (options.others) await compare(options);
  if (options.sqlite && !options.from) await measureSqlite(options);
  if (options.keptJobs && !options.from) await measureKeptJobs(options);
  if (options.flow && !options.from) await measureGroups(options);
  if (options.manyRows && !options.from) await measureManyRows(options);
  if (options.fleet && !options.from) await measureWorkerProcesses(options);
  if (options.cost && !options.from) await measureCost(options);
};

const compare = async (options) => {
  const svg = resolve(options.svg ?? new URL("bench-results/benchmark.svg", import.meta.url).pathname);
  await mkdir(dirname(svg), { recursive: true });
  if (options.json) {
    await mkdir(dirname(resolve(options.json)), { recursive: true });
    await writeFile(options.json, "");
  }
  const { records, failures } = options.from
    ? { records: await readRecords(options.from), failures: [] }
    : await measureAll(options);
  printReport(records);
  await writeFile(svg, drawChart(records));
  console.log(`\nPicture: ${svg}`);
  if (failures.length > 0) {
    console.log(`\n${failures.length} measurements failed.`);
    process.exitCode = 1;
  }
};

await main().catch((error) => {
  console.error(error.message);
  // Servers that could not be stopped any more end with the process.
  process.exit(1);
});
