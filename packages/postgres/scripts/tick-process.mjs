// One worker process of tick-workers.mjs: ticks, and runs jobs that do nothing, until it is killed or told to stop.
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createPgPoolStateProvider, createPgStateAdapter } from "../dist/index.js";

const { url, schema } = JSON.parse(process.argv[2]);
const pool = new pg.Pool({ connectionString: url, max: 5 });
const stateAdapter = await createPgStateAdapter({
  stateProvider: createPgPoolStateProvider({ pool }),
  schema,
  migrate: false,
});
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
const worker = await leasehold
  .createWorker()
  .implementJobType({ typeName: "tick", process: async () => null })
  .start({ concurrency: 50 });
process.send("ready");
const leave = async () => {
  await worker.stop();
  await pool.end();
  process.disconnect();
};
process.on("message", () => void leave());
