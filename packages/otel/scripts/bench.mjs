// What observing costs: the rate at which one worker drains no-op jobs, without an adapter, with metrics, and with
// metrics and traces (every job sampled; spans go to a processor that drops them).
//
//   npm run build && node packages/otel/scripts/bench.mjs [--quick] [--store=in-process|postgres]
//
// The in-process store is the harshest measure there is: a job costs it a few microseconds, all of them CPU of this very
// process. PostgreSQL is started for the occasion. Every figure is the median of several runs, each in a process of its
// own and the kinds in turn, so that a busy machine is fair to all. The CPU time is that of the measuring process alone.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const modes = ["none", "metrics", "traces", "metrics and traces"];

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const format = (value) => Math.round(value).toLocaleString("en-US");

const createAdapter = async (mode) => {
  if (mode === "none") return undefined;
  const { context } = await import("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
  const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } =
    await import("@opentelemetry/sdk-metrics");
  const { BasicTracerProvider } = await import("@opentelemetry/sdk-trace-base");
  const { createOtelObservabilityAdapter } = await import("../dist/index.js");
  const options = {};
  if (mode.includes("metrics")) {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000 });
    options.meter = new MeterProvider({ readers: [reader] }).getMeter("bench");
  }
  if (mode.includes("traces")) {
    const drop = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
    options.tracer = new BasicTracerProvider({ spanProcessors: [drop] }).getTracer("bench");
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }
  return createOtelObservabilityAdapter(options);
};

const openStore = async (url) => {
  const { createInProcessStateAdapter } = await import("leasehold");
  if (url === "in-process") return { stateAdapter: createInProcessStateAdapter(), close: async () => {} };
  const { default: pg } = await import("pg");
  const { createPgPoolStateProvider, createPgStateAdapter } = await import("@leasehold/postgres");
  const pool = new pg.Pool({ connectionString: url });
  const schema = `bench_${process.pid}_${Math.round(performance.now())}`;
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  const close = async () => {
    await stateAdapter.close();
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  };
  return { stateAdapter, close };
};

const drain = async (url, observabilityAdapter, count) => {
  const { createLeasehold, defineUnionJobTypes } = await import("leasehold");
  const { stateAdapter, close } = await openStore(url);
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes(),
    ...(observabilityAdapter && { observabilityAdapter }),
  });
  for (let started = 0; started < count; started += 5_000) {
    const length = Math.min(5_000, count - started);
    const sequences = Array.from({ length }, () => ({ typeName: "noop", input: null }));
    await leasehold.startJobSequences({ sequences });
  }
  let settle;
  const drained = new Promise((resolve) => (settle = resolve));
  let committed = 0;
  const commitOutcomes = stateAdapter.commitOutcomes;
  stateAdapter.commitOutcomes = async (call) => {
    const results = await commitOutcomes.call(stateAdapter, call);
    committed += results.length;
    if (committed >= count) settle();
    return results;
  };
  const builder = leasehold.createWorker().implementJobType({ typeName: "noop", process: async () => null });
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const worker = await builder.start({ concurrency: 100 });
  await drained;
  const elapsed = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  await worker.stop();
  await close();
  return { rate: (count / elapsed) * 1_000, cpu: (user + system) / count };
};

const measure = async (mode, url, count) => {
  const adapter = await createAdapter(mode);
  await drain(url, adapter, Math.min(count, 10_000)); // The first run pays for compilation.
  return drain(url, adapter, count);
};

const compare = (store, url, runs, count) => {
  const self = fileURLToPath(import.meta.url);
  const results = new Map(modes.map((mode) => [mode, []]));
  for (let run = 0; run < runs; run++) {
    for (const mode of modes) {
      const options = [self, "--one", mode, url, String(count)];
      results.get(mode).push(JSON.parse(execFileSync(process.execPath, options, { encoding: "utf8" })));
    }
  }
  const rateOf = (mode) => median(results.get(mode).map(({ rate }) => rate));
  for (const mode of modes) {
    const label = `${store}, ${mode === "none" ? "no adapter" : mode}`.padEnd(34);
    const cpu = median(results.get(mode).map((result) => result.cpu)).toFixed(1);
    process.stdout.write(
      `${label} ${format(rateOf(mode)).padStart(8)} jobs/s  ${(rateOf(mode) / rateOf("none")).toFixed(2)} x` +
        `  ${cpu.padStart(6)} µs CPU a job\n`,
    );
  }
};

if (process.argv[2] === "--one") {
  const [, , , mode, url, count] = process.argv;
  process.stdout.write(JSON.stringify(await measure(mode, url, Number(count))));
  process.exit(0);
}

const quick = process.argv.includes("--quick");
const chosen = process.argv.find((argument) => argument.startsWith("--store="))?.slice("--store=".length);
const runs = quick ? 3 : 7;
if (chosen !== "postgres") compare("in process", "in-process", runs, quick ? 20_000 : 100_000);
if (chosen !== "in-process") {
  const { startPostgres } = await import("@leasehold/test-servers");
  const server = await startPostgres({ settings: { shared_buffers: "'256MB'" } });
  try {
    compare("PostgreSQL", server.url, runs, quick ? 10_000 : 40_000);
  } finally {
    await server.stop();
  }
}
