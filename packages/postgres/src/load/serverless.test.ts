import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgNotifyAdapter } from "../notify/notify-adapter.ts";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: { n: number }; output: number } }>();

const url = inject("postgres15Url");
const schema = newSchemaName();

let sent: string[] = [];

class CountedClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      sent.push(typeof args[0] === "string" ? args[0] : (args[0] as { text: string }).text);
      return query(...args);
    }) as typeof this.query;
  }
}

const open = async (connections: number, { listens = false } = {}) => {
  const pool = new pg.Pool({ connectionString: url, max: connections, Client: CountedClient });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  const createClient = () => new CountedClient({ connectionString: url });
  const notifyAdapter = listens
    ? await createPgNotifyAdapter({
        notifyProvider: createPgPoolNotifyProvider({ pool, createClient }),
        channelPrefix: schema,
        heartbeatMs: 3_600_000,
      })
    : undefined;
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, notifyAdapter });
  const worker = leasehold.createWorker().implementJobType({
    typeName: "work",
    // Needs the connection of the pool that the worker uses, too.
    process: ({ job, complete }) =>
      complete(async ({ client }) => {
        await client.query("SELECT 1");
        return job.input.n;
      }),
  });
  const close = async (): Promise<void> => {
    await leasehold.close();
    await notifyAdapter?.close();
    await stateAdapter.close();
    await pool.end();
  };
  return { leasehold, worker, close };
};

describe("a worker for a while", () => {
  let kit: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    kit = await open(1);
  });
  afterAll(async () => {
    await kit.close();
    await dropSchema(url, schema);
  });

  it("runs jobs with a pool of one connection, and says when the next one is due", async () => {
    const { leasehold, worker } = kit;
    const at = new Date(Date.now() + 3_600_000);
    await leasehold.startJobSequence({ typeName: "work", input: { n: 0 }, schedule: { at } });
    const sequences = Array.from({ length: 20 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
    await leasehold.startJobSequences({ sequences });
    const result = await worker.runUntilIdle({ deadlineMs: 20_000 });
    expect(result).toMatchObject({ ranJobs: 20, isIdle: true, clean: true });
    expect(Math.abs(result.nextRunnableAt!.getTime() - at.getTime())).toBeLessThan(5_000);
    // An idle run is cheap.
    sent = [];
    expect(await worker.runUntilIdle({ deadlineMs: 20_000 })).toMatchObject({ ranJobs: 0, isIdle: true });
    expect(sent.length).toBeLessThanOrEqual(25);
  });

  it("that may sleep sends no statement while it is idle, and wakes for a job of another process", async () => {
    const sleeper = await open(2, { listens: true });
    const running = await sleeper.worker.start({
      idleSleepMs: 3_600_000,
      pollIntervalMs: 20,
      reapIntervalMs: 20,
    });
    // Statements of the start come first; a worker that does not sleep polls every 20 ms.
    const isQuiet = async (): Promise<boolean> => {
      sent = [];
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return sent.length === 0;
    };
    await until(isQuiet, "a second passes without a statement");
    const producer = await open(1, { listens: true });
    const { id } = await producer.leasehold.startJobSequence({ typeName: "work", input: { n: 7 } });
    const done = await producer.leasehold.waitForJobSequenceCompletion({ id, typeName: "work" });
    expect(done.output).toBe(7);
    await running.stop();
    await producer.close();
    await sleeper.close();
  });
});
