// What Leasehold has to reach, as ratios within one run.

const othersOnPostgres = ["pg-boss", "graphile-worker", "graphile-worker-batched"];
const others = ["bullmq-redis", ...othersOnPostgres];

const best = (values, choose) => {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? choose(...known) : undefined;
};

const faster = (phase, needed, against, systems, own = "leasehold") => ({
  phase,
  text: `${own === "leasehold" ? "" : `${own} `}≥ ${needed} × ${against}`,
  needed,
  reached: (ratio) => ratio >= needed,
  ratio: (medians) =>
    medians(own, phase) /
    best(
      systems.map((system) => medians(system, phase)),
      Math.max,
    ),
});

/** Only in a run with `--before`. */
const cheaper = (phase, needed) => ({
  phase,
  text: `worker CPU ≤ ${needed} × that of leasehold-before`,
  reached: (ratio) => ratio <= needed,
  ratio: (medians) =>
    medians("leasehold", phase, "worker_cpu_us") / medians("leasehold-before", phase, "worker_cpu_us"),
});

const sooner = (field) => ({
  phase: "latency",
  text: `${field} ≤ 1.0 × the best of the others on PostgreSQL`,
  reached: (ratio) => ratio <= 1,
  ratio: (medians) =>
    medians("leasehold", "latency", field) /
    best(
      othersOnPostgres.map((system) => medians(system, "latency", field)),
      Math.min,
    ),
});

const steadyUnderGrowth = (phase) => ({
  phase,
  text: "≥ 0.9 × its own drain with nothing else in the table",
  reached: (ratio) => ratio >= 0.9,
  ratio: (medians) => medians("leasehold", phase) / medians("leasehold", "growth_empty"),
});

const targets = [
  faster("start_single", 1.5, "the best of the others on PostgreSQL", othersOnPostgres),
  faster("start_single", 0.8, "bare SQL", ["bare-sql"]),
  faster("start_concurrent", 10, "the best of the others on PostgreSQL", othersOnPostgres),
  faster("start_bulk", 1.5, "the best of the others", others),
  faster("start_bulk", 0.8, "bare SQL", ["bare-sql"]),
  ...["drain_c10", "drain_c100"].flatMap((phase) => [
    faster(phase, 1.15, "graphile-worker, batched", ["graphile-worker-batched"]),
    faster(phase, 1.4, "graphile-worker, batched", ["graphile-worker-batched"], "leasehold-nothing-kept"),
    faster(phase, 1.5, "BullMQ on Redis", ["bullmq-redis"]),
    faster(phase, 0.6, "bare SQL at the same batch size", ["bare-sql"]),
    cheaper(phase, 0.8),
  ]),
  faster("drain_tx", 1.2, "pg-boss", ["pg-boss"]),
  faster("drain_tx", 1, "graphile-worker, which is not atomic", ["graphile-worker"]),
  faster("drain_tx", 0.85, "bare SQL running the same transaction", ["bare-sql"]),
  cheaper("drain_tx", 0.65),
  faster("batch_200", 1, "graphile-worker, batched", ["graphile-worker-batched"]),
  {
    phase: "drain_tx_batch",
    text: "≥ 5 × its own drain with one transaction for each job",
    reached: (ratio) => ratio >= 5,
    ratio: (medians) => medians("leasehold", "drain_tx_batch") / medians("leasehold", "drain_tx"),
  },
  faster("drain_tx_batch", 1.2, "pg-boss", ["pg-boss"]),
  faster("drain_tx_batch", 1, "graphile-worker, batched", ["graphile-worker-batched"]),
  cheaper("drain_tx_batch", 0.75),
  sooner("p50"),
  sooner("p99"),
  {
    phase: "tick_10k",
    text: "p99 ≤ 1 s after its time",
    reached: (ratio) => ratio <= 1,
    ratio: (medians) => medians("leasehold", "tick_10k", "p99") / 1_000,
  },
  faster("steady", 1, "graphile-worker, batched", ["graphile-worker-batched"]),
  ...["growth_completed", "growth_scheduled", "growth_types"].map(steadyUnderGrowth),
];

/**
 * Those that can be told from what was measured.
 * @param {(system: string, phase: string, field?: string) => number | undefined} medians
 */
export const checkTargets = (medians) =>
  targets
    .map(({ phase, text, ratio, reached }) => ({ phase, text, ratio: ratio(medians), reached }))
    .filter(({ ratio }) => Number.isFinite(ratio))
    .map(({ reached, ...target }) => ({ ...target, reached: reached(target.ratio) }));
