// One process of kill-workers.mjs: a worker or a producer. Works on the built packages. Its settings are its argument.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "../dist/index.js";

const settings = JSON.parse(process.argv[2]);
const { role, name, url, schema } = settings;

const pool = new pg.Pool({ connectionString: url, application_name: name });
// The ledger has its own connections, so that faults of the connections under test do not affect it.
const ledger = new pg.Pool({ connectionString: url, application_name: "ledger", max: 4 });
const stateAdapter = await createPgStateAdapter({
  stateProvider: createPgPoolStateProvider({ pool }),
  schema,
});
const notifyAdapter = await createPgNotifyAdapter({
  notifyProvider: createPgPoolNotifyProvider({ pool }),
  channelPrefix: schema,
});
const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes: defineUnionJobTypes() });

const note = (client, event, job) =>
  client.query(
    `INSERT INTO ${schema}.ledger (event, job_id, attempt, lease_version, worker, claimed_at)
     SELECT $1, $2, $3, (SELECT lease_version FROM ${schema}.job WHERE id = $2 AND attempt = $3), $4, $5`,
    [event, job.id, job.attempt, name, job.lastAttemptAt.getTime()],
  );

const close = async () => {
  await notifyAdapter.close();
  await Promise.all([pool.end(), ledger.end()]);
  process.disconnect();
};

const work = async () => {
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "simple",
      process: async ({ job }) => {
        await note(ledger, "began", job);
        await sleep(job.input.ms);
        return job.attempt;
      },
    })
    .implementJobType({
      typeName: "transactional",
      process: async ({ job, complete }) => {
        await note(ledger, "began", job);
        await sleep(job.input.ms);
        return complete(async ({ client }) => {
          await note(client, "committed", job);
          return job.attempt;
        });
      },
    })
    .start({
      workerId: name,
      concurrency: settings.concurrency,
      leaseMs: settings.leaseMs,
      reapIntervalMs: settings.leaseMs / 3,
    });
  process.send("ready");
  await once(process, "message");
  await worker.stop();
  await close();
};

const produce = async () => {
  const batchSize = 50;
  for (let made = 0; made < settings.jobs; made += batchSize) {
    const sequences = Array.from({ length: Math.min(batchSize, settings.jobs - made) }, (_, index) => ({
      typeName: index % 2 === 0 ? "simple" : "transactional",
      input: { ms: 1 + Math.floor(Math.random() * settings.longestJobMs) },
      // These processes are killed far more often than real ones. This looks for lost jobs, not for jobs that crash workers.
      maxAttempts: 1_000,
    }));
    const started = await leasehold.startJobSequences({ sequences });
    await ledger.query(`INSERT INTO ${schema}.acknowledged SELECT unnest($1::uuid[])`, [
      started.map(({ id }) => id),
    ]);
  }
  await close();
};

await (role === "worker" ? work() : produce());
