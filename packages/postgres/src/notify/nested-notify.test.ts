import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";
import { createPgNotifyAdapter } from "./notify-adapter.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: string; output: null } }>();

// Far longer than the test runs: only a notification makes the worker claim.
const pollIntervalMs = 3_600_000;

describe("withNotify inside a transaction", () => {
  it("wakes a worker after the commit, although the worker has claimed meanwhile", async () => {
    const url = inject("postgres18Url");
    const schema = newSchemaName();
    const pool = new pg.Pool({ connectionString: url });
    const ran: string[] = [];
    let sleeps = false;
    const open = async () => {
      const stateAdapter = await createPgStateAdapter({
        stateProvider: createPgPoolStateProvider({ pool }),
        schema,
      });
      const notifyAdapter = await createPgNotifyAdapter({
        notifyProvider: createPgPoolNotifyProvider({ pool }),
        channelPrefix: schema,
      });
      const nextRunnableIn: typeof stateAdapter.nextRunnableIn = async (call) => {
        const dueIn = await stateAdapter.nextRunnableIn(call);
        // While the other job still runs, its lease is the next thing to become due.
        sleeps = dueIn !== 0 && ran.length > 0;
        return dueIn;
      };
      const leasehold = await createLeasehold({
        stateAdapter: { ...stateAdapter, nextRunnableIn },
        notifyAdapter,
        jobTypes,
      });
      const close = async (): Promise<void> => {
        await leasehold.close();
        await notifyAdapter.close();
        await stateAdapter.close();
      };
      return { leasehold, close };
    };
    const producer = await open();
    const consumer = await open();
    const worker = consumer.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ job }) => {
        ran.push(job.input);
        return null;
      },
    });
    await worker.start({ pollIntervalMs });

    const { leasehold } = producer;
    await leasehold.runInTransaction(async ({ client }) => {
      await leasehold.withNotify(() =>
        leasehold.startJobSequence({ client, typeName: "work", input: "in the transaction" }),
      );
      // Its notification follows every one sent so far, so the worker has claimed after those, too.
      await consumer.leasehold.startJobSequence({ typeName: "work", input: "meanwhile" });
      await until(() => sleeps, "the worker has run the other job and found no more");
    });
    await until(() => ran.length === 2, "the worker has run the job of the transaction");
    expect(ran).toEqual(["meanwhile", "in the transaction"]);

    await producer.close();
    await consumer.close();
    await pool.end();
    await dropSchema(url, schema);
  });
});
