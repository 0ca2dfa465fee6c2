import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { createPgNotifyAdapter } from "./notify/notify-adapter.ts";
import { createPgPoolNotifyProvider } from "./providers/pg-notify.ts";
import { createPgPoolStateProvider } from "./providers/pg-pool.ts";
import { createPgStateAdapter } from "./state-adapter.ts";
import { dropSchema, newSchemaName } from "./testing/fixtures.ts";

// On an idle machine it takes a few milliseconds. The bound allows for a busy machine, but not for polling.
const limitMs = 250;

describe("a job started as in the first example reaches its handler without waiting for a poll", () => {
  // With a notify adapter as in docs/postgres.md, and without one as in the README of the package.
  it.each([true, false])("with a notify adapter: %s", async (withNotifyAdapter) => {
    const url = inject("postgres18Url");
    const schema = newSchemaName();
    const pool = new pg.Pool({ connectionString: url });
    const jobTypes = defineUnionJobTypes<{ "ship-order": { input: { sentAt: number }; output: number } }>();
    const stateAdapter = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool }),
      schema,
    });
    const notifyAdapter = withNotifyAdapter
      ? await createPgNotifyAdapter({ notifyProvider: createPgPoolNotifyProvider({ pool }) })
      : undefined;
    const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
    const worker = await leasehold
      .createWorker()
      .implementJobType({
        typeName: "ship-order",
        process: async ({ job }) => performance.now() - job.input.sentAt,
      })
      .start();
    const latencies: number[] = [];
    for (let n = 0; n < 15; n += 1) {
      const input = { sentAt: performance.now() };
      const started = await leasehold.runInTransaction(async ({ client }) => {
        await client.query("SELECT 1");
        return leasehold.startJobSequence({ client, typeName: "ship-order", input });
      });
      latencies.push((await leasehold.waitForJobSequenceCompletion(started)).output);
    }
    await worker.stop();
    await notifyAdapter?.close();
    await stateAdapter.close();
    await pool.end();
    await dropSchema(url, schema);
    const [median] = latencies.sort((a, b) => a - b).slice(7);
    expect(median).toBeLessThan(limitMs);
  });
});
