import { randomUUID } from "node:crypto";
import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

// A server that nobody else writes to: the size of its write-ahead log shows what a job costs.
let server: PostgresServer;
let kit: Kit;
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: "off" } });
  kit = await openKit({ url: server.url });
}, 60_000);
afterAll(async () => {
  await kit.close();
  await server.stop();
});

const position = async (): Promise<string> =>
  (await kit.rows<{ lsn: string }>("SELECT pg_current_wal_insert_lsn()::text AS lsn"))[0]!.lsn;
const bytesSince = async (before: string): Promise<number> =>
  (
    await kit.rows<{ bytes: number }>("SELECT (pg_current_wal_insert_lsn() - $1::pg_lsn)::int AS bytes", [
      before,
    ])
  )[0]!.bytes;

it("a large input is not written again when its job is claimed, renewed and completed", async () => {
  // It must not be compressible, or the test would prove nothing.
  const input = JSON.stringify(Array.from({ length: 14_000 }, () => randomUUID()));
  expect(input.length).toBeGreaterThan(500_000);
  const { stateAdapter } = kit;
  const beforeStart = await position();
  await stateAdapter.createJobs({ jobs: [newJob({ input })] });
  expect(await bytesSince(beforeStart)).toBeGreaterThan(400_000);

  const beforeRun = await position();
  const [job] = await claim(stateAdapter, { limit: 1 });
  expect(job!.input).toBe(input);
  await stateAdapter.renewLeases({
    leases: [{ jobId: job!.id, leaseToken: job!.leaseToken!, leaseMs: 1_000, progress: "1" }],
  });
  await stateAdapter.commitOutcomes({ outcomes: [completionOf(job!)] });
  expect(await bytesSince(beforeRun)).toBeLessThan(5_000);
});
