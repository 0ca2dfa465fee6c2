// One of the processes of `flow_race`: takes jobs and completes them until it is ended.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { claimJobs, completeJobs } from "./loop.mjs";

const [url, schema] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 2 });
const adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
process.once("disconnect", () => process.exit());
for (;;) {
  const jobs = await claimJobs(adapter, 2);
  await sleep(2);
  if (jobs.length > 0) await completeJobs(adapter, jobs);
}
