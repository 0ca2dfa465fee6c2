// One process of upgrade.mjs: a worker, a producer or a migration, of the version in the given folder.
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { role, name, root, kind, address } = JSON.parse(process.argv[2]);
const tell = (message) => process.connected && process.send(message);
process.on("disconnect", () => process.exit());

const load = (name) => import(join(root, "packages", name, "dist/index.js"));
const { createLeasehold, defineUnionJobTypes } = await load("core");

const openers = {
  postgres: async () => {
    const { createPgPoolStateProvider, createPgStateAdapter } = await load("postgres");
    const pg = createRequire(join(root, "package.json"))("pg");
    const pool = new pg.Pool({ connectionString: address, application_name: name });
    const migrate = role === "migrate";
    const stateAdapter = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool }),
      migrate,
    });
    const deliver = ({ client }, id) => client.query("INSERT INTO delivery (job_id) VALUES ($1)", [id]);
    return { stateAdapter, deliver, close: () => pool.end() };
  },
  sqlite: async () => {
    const { createSqliteStateAdapter } = await load("sqlite");
    const stateAdapter = await createSqliteStateAdapter({ file: address });
    const deliver = async ({ client }, id) =>
      client.prepare("INSERT INTO delivery (job_id) VALUES (?)").run(id);
    return { stateAdapter, deliver, close: async () => {} };
  },
};

const store = await openers[kind]();
const close = async () => {
  await store.stateAdapter.close();
  await store.close();
  if (process.connected) process.disconnect();
};

const open = () =>
  createLeasehold({
    stateAdapter: store.stateAdapter,
    jobTypes: defineUnionJobTypes({ grouped: { queue: "grouped" } }),
    log: ({ event, data }) => {
      if (event === "stateAdapterError" || event === "workerError")
        tell({ error: `${data.operation ?? data.loop}: ${String(data.error)}` });
    },
  });

const work = async () => {
  const leasehold = await open();
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "part", process: async ({ job }) => job.input })
    .implementJobType({ typeName: "grouped", process: async ({ job }) => job.input })
    .implementJobType({
      typeName: "flaky",
      retry: { type: "fixed", delayMs: 50 },
      process: async ({ job }) => {
        if (job.attempt === 1) throw new Error("not this time");
        return job.attempt;
      },
    })
    .implementJobType({
      typeName: "assemble",
      process: async ({ job }) => job.blockers.reduce((sum, { output }) => sum + output, 0),
    })
    .implementJobType({
      typeName: "order",
      process: async ({ job, complete }) =>
        complete(({ continueWith }) => continueWith({ typeName: "ship", input: job.input })),
    })
    .implementJobType({
      typeName: "ship",
      process: async ({ job, complete }) =>
        complete(async (ctx) => {
          await store.deliver(ctx, job.id);
          return job.input;
        }),
    })
    .start({ workerId: name, concurrency: 10, pollIntervalMs: 50, leaseMs: 20_000 });
  tell({ ready: true });
  await once(process, "message");
  await worker.stop();
  await close();
};

const produce = async () => {
  const leasehold = await open();
  let stopped = false;
  process.once("message", () => (stopped = true));
  tell({ ready: true });
  for (let n = 0; !stopped; n += 1) {
    const begin = performance.now();
    const started = await leasehold.startJobSequences({
      sequences: [
        { typeName: "order", input: n },
        { typeName: "flaky", input: n },
        { typeName: "grouped", input: n, group: `${n % 5}` },
        { typeName: "part", input: n, schedule: { afterMs: 200 } },
        { typeName: "part", input: n, priority: 5, deduplication: { key: `${name}-${Math.floor(n / 2)}` } },
        {
          typeName: "assemble",
          input: n,
          startBlockers: async () => [
            await leasehold.startJobSequence({ typeName: "part", input: 1 }),
            await leasehold.startJobSequence({ typeName: "part", input: 2 }),
          ],
        },
      ],
    });
    tell({ acknowledged: started.map(({ id }) => id), slowestStartMs: performance.now() - begin });
    await sleep(20);
  }
  await close();
};

if (role === "worker") await work();
else if (role === "producer") await produce();
else await close();
