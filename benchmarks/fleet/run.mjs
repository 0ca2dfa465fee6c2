// A fleet of worker processes behind PgBouncer, most of them idle: what it asks of the server, and how soon a job starts.
//
//   npm run build && node benchmarks/fleet/run.mjs [--processes 10,50] [--notify none,postgres,redis,nats] [--busy 5]
//     [--rate 200] [--seconds 20] [--starts 200] [--statements] [--json FILE]
import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { measureFleet } from "./measure.mjs";
import { notifyAdapterNames } from "./open.mjs";
import { startFleetServers } from "./servers.mjs";

const fixed = (value, digits) => value.toFixed(digits);
const ms = ({ p50, p99 }) => `${fixed(p50, p50 < 10 ? 1 : 0)}/${fixed(p99, 0)}`;
const percent = (cores) => `${fixed(cores * 100, 0)} %`;

/** The lines of the heading, and the figure. */
const columns = [
  [["notify", "adapter"], ({ notify }) => notify],
  [["pro-", "cesses"], ({ processes }) => processes],
  [["idle:", "asks/s"], (r) => fixed(r.idleStatementsPerWorker, 2)],
  [["CPU", ""], (r) => percent(r.serverCpuIdle)],
  [["start:", "sent"], (r) => fixed(r.notificationsPerStart, 1)],
  [["woken", ""], (r) => fixed(r.wakesPerStart, 2)],
  [["claims", ""], (r) => fixed(r.claimsPerStart, 2)],
  [["asks", ""], (r) => fixed(r.statementsPerStart, 1)],
  [["CPU", "ms"], (r) => fixed(r.serverMsPerStart, 2)],
  [["p50/99", "ms"], (r) => ms(r.timeToStart)],
  [["load:", "claims"], (r) => fixed(r.claimsPerStartUnderLoad, 2)],
  [["p50/99", "ms"], (r) => ms(r.timeToStartUnderLoad)],
  [["busy", "p50/99"], (r) => ms(r.timeToStartOfBusy)],
  [["CPU", ""], (r) => percent(r.serverCpuUnderLoad)],
  [["conn.", ""], ({ connections: { pooled, listening } }) => `${pooled}+${listening}`],
];

const widths = [8, 6, 6, 4, 6, 5, 6, 4, 5, 7, 6, 7, 7, 4, 5];

const toLine = (cells) =>
  cells
    .map((cell, i) => (i === 0 ? String(cell).padEnd(widths[i]) : String(cell).padStart(widths[i])))
    .join(" ")
    .trimEnd();

const printHeading = (report) => {
  for (const line of [0, 1]) report(toLine(columns.map(([heading]) => heading[line])));
};

const printStatements = ({ phases }, report) => {
  for (const [phase, { statements, seconds }] of Object.entries(phases)) {
    report(`  ${phase}, ${fixed(seconds, 1)} s`);
    for (const { query, calls, ms, planMs } of statements.slice(0, 12)) {
      const text = query.replaceAll(/\s+/g, " ").replace(/^WITH clock AS MATERIALIZED \(.*?AS now\),? /, "");
      const [planned, executed] = [planMs, ms].map((sum) => fixed(sum / calls, 3).padStart(7));
      report(`    ${String(calls).padStart(6)} × ${planned} + ${executed} ms  ${text.slice(0, 60)}`);
    }
  }
};

const explanation = `
idle   nothing happens: statements a second of each worker; CPU of PostgreSQL, in per cent of a core
start  a single job at a time: notifications sent, workers woken, claims, statements, CPU of
       PostgreSQL, and the time from the call that starts the job to its handler
load   single jobs beside a steady load of the busy processes: claims and time for each of them;
       the time for jobs of the load (busy); CPU of PostgreSQL
conn.  most connections of PostgreSQL in use: of PgBouncer + listening
`;

const defaults = {
  processes: [10, 50],
  notify: notifyAdapterNames,
  busy: 5,
  rate: 200,
  seconds: 20,
  starts: 150,
  statements: false,
};

/** @param {Partial<typeof defaults> & { report: (line: string) => void }} options */
export const measureFleets = async ({ report, ...options }) => {
  const { processes, notify, statements, ...workload } = { ...defaults, ...options };
  printHeading(report);
  const servers = await startFleetServers({ notify, statements });
  const results = [];
  try {
    for (const size of processes) {
      for (const name of notify) {
        const result = await measureFleet({ servers, notify: name, processes: size, ...workload });
        results.push(result);
        report(toLine(columns.map(([, show]) => show(result))));
        if (statements) printStatements(result, report);
        const { lost, repeated, errors } = result;
        if (lost > 0 || repeated > 0)
          report(`${name}, ${size} processes: ${lost} lost, ${repeated} repeated`);
        for (const [error, times] of errors) report(`${name}, ${size} processes: ${times} × ${error}`);
      }
    }
  } finally {
    await servers.stop();
  }
  report(explanation);
  return results;
};

const main = async () => {
  const { values } = parseArgs({
    options: {
      processes: { type: "string" },
      notify: { type: "string" },
      busy: { type: "string" },
      rate: { type: "string" },
      seconds: { type: "string" },
      starts: { type: "string" },
      statements: { type: "boolean" },
      json: { type: "string" },
    },
  });
  const { processes, notify, json, ...others } = values;
  const numbers = ["busy", "rate", "seconds", "starts"].filter((name) => name in others);
  const results = await measureFleets({
    ...others,
    ...Object.fromEntries(numbers.map((name) => [name, Number(others[name])])),
    ...(processes === undefined ? {} : { processes: processes.split(",").map(Number) }),
    ...(notify === undefined ? {} : { notify: notify.split(",") }),
    report: console.log,
  });
  if (json) await writeFile(json, JSON.stringify(results));
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
