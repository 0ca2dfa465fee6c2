// The tables that a run prints.
import { createMedians } from "./medians.mjs";
import { phases } from "./phases.mjs";
import { systems } from "./systems/index.mjs";
import { checkTargets } from "./targets.mjs";

const number = (value, digits = 0) =>
  value === undefined
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** @param {readonly (readonly string[])[]} rows the first are the headings; the first column is text, the rest figures */
const table = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ");
  return [
    line(rows[0]),
    widths.map((width) => "─".repeat(width)).join("  "),
    ...rows.slice(1).map(line),
  ].join("\n");
};

/** One line per phase and figure; one column per system. */
const linesOf = (phase) =>
  phases[phase].unit === "ms"
    ? ["p50", "p95", "p99"].map((field) => ({ phase, field, label: `${phase} ${field}, ms`, digits: 2 }))
    : [{ phase, field: "rate", label: `${phase}, jobs/s`, digits: 0 }];

const rateTable = (medians, names, lines) =>
  table([
    ["median", ...names],
    ...lines.map(({ phase, field, label, digits }) => [
      label,
      ...names.map((system) => number(medians(system, phase, field), digits)),
    ]),
  ]);

/** Above 1 Leasehold is better: faster, or sooner. */
const ratioTable = (medians, names, lines) =>
  table([
    ["Leasehold is better by", ...names],
    ...lines.map(({ phase, field, label }) => [
      label.replace(/, .*/, ""),
      ...names.map((system) => {
        const own = medians("leasehold", phase, field);
        const theirs = medians(system, phase, field);
        if (own === undefined || theirs === undefined) return "–";
        return `${number(field === "rate" ? own / theirs : theirs / own, 2)} ×`;
      }),
    ]),
  ]);

const costs = [
  ["producer CPU per job, µs", "start_bulk", "producer_cpu_us"],
  ["server CPU per job, µs", "start_bulk", "server_cpu_us"],
  ["worker CPU per job, µs", "drain_c100", "worker_cpu_us"],
  ["server CPU per job, µs", "drain_c100", "server_cpu_us"],
  ["worker CPU per job, µs", "drain_tx", "worker_cpu_us"],
  ["server CPU per job, µs", "drain_tx", "server_cpu_us"],
  ["worker CPU per job, µs", "drain_tx_batch", "worker_cpu_us"],
  ["server CPU per job, µs", "drain_tx_batch", "server_cpu_us"],
  ["worker's memory at most, MiB", "drain_c100", "worker_rss_mb"],
  ["connections to PostgreSQL", "drain_c100", "connections"],
];

const costTable = (medians, names) =>
  table([
    ["median", ...names],
    ...costs
      .filter(([, phase, field]) => names.some((system) => medians(system, phase, field) !== undefined))
      .map(([label, phase, field]) => [
        `${phase}: ${label}`,
        ...names.map((system) => number(medians(system, phase, field), field === "connections" ? 0 : 1)),
      ]),
  ]);

const targetTable = (targets) =>
  table([
    ["target", "measured", "reached"],
    ...targets.map(({ phase, text, ratio, reached }) => [
      `${phase}: ${text}`,
      `${number(ratio, 2)} ×`,
      reached ? "reached" : "NOT REACHED",
    ]),
  ]);

/** @param {readonly object[]} records */
export const printReport = (records) => {
  if (records.length === 0) return;
  const medians = createMedians(records);
  const names = Object.keys(systems).filter((name) => records.some(({ system }) => system === name));
  const lines = Object.keys(phases)
    .filter((name) => records.some(({ phase }) => phase === name))
    .flatMap(linesOf);
  console.log(`\n${rateTable(medians, names, lines)}`);
  const rivals = names.filter((name) => name !== "leasehold");
  if (names.includes("leasehold") && rivals.length > 0)
    console.log(`\n${ratioTable(medians, rivals, lines)}`);
  console.log(`\n${costTable(medians, names)}`);
  const duplicates = records.filter((record) => record.duplicates > 0);
  for (const { system, phase, rep, duplicates: count } of duplicates) {
    console.log(`\n${system} ran ${count} jobs more than once in ${phase}, repetition ${rep}.`);
  }
  const targets = checkTargets(medians);
  if (targets.length > 0) console.log(`\n${targetTable(targets)}`);
};

const countedCosts = [
  ["own CPU, µs", "own_cpu_us", 1],
  ["server CPU, µs", "server_cpu_us", 1],
  ["statements", "statements", 3],
  ["round trips", "round_trips", 3],
  ["write-ahead log, bytes", "wal_bytes", 0],
];

/**
 * What a job costs Leasehold, and the ratio to each of the others.
 * @param {readonly object[]} records of a run that counted
 */
export const printCosts = (records) => {
  // The process that is measured starts jobs in some phases, and runs them in the others.
  const medians = createMedians(
    records.map((record) => ({ own_cpu_us: record.worker_cpu_us ?? record.producer_cpu_us, ...record })),
  );
  const others = Object.keys(systems).filter(
    (name) => name !== "leasehold" && records.some(({ system }) => system === name),
  );
  const lines = Object.keys(phases)
    .filter((name) => records.some(({ phase }) => phase === name))
    .flatMap((phase) =>
      countedCosts.map(([label, field, digits]) => {
        const own = medians("leasehold", phase, field);
        const beside = others.flatMap((name) => {
          const other = medians(name, phase, field);
          const ratio = own === undefined || !other ? "–" : `${number(own / other, 2)} ×`;
          return [number(other, digits), ratio];
        });
        return [`${phase}: ${label}`, number(own, digits), ...beside];
      }),
    );
  const headings = others.flatMap((name) => [name, "ratio"]);
  console.log(`\n${table([["for each job, median", "leasehold", ...headings], ...lines])}`);
};
