import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { startTcpProxy, type TcpProxy } from "../testing/tcp-proxy.ts";
import { until } from "../testing/until.ts";

describe("connections whose other end has silently disappeared", () => {
  let proxy: TcpProxy;
  let kit: Kit;
  beforeEach(async () => {
    proxy = await startTcpProxy(inject("postgres18Url"));
    kit = await openKit({
      url: proxy.url,
      directUrl: inject("postgres18Url"),
      connections: 4,
      // Without it `pg` keeps a connection that does not answer for as long as TCP does: 15 minutes.
      queryTimeoutMs: 1_000,
      leasehold: { storeDeadlineMs: 1_000 },
    });
  });
  afterEach(async () => {
    // First: the end of a connection that stays in the black hole is never confirmed, and the pool would wait for it.
    await proxy.close();
    await kit.close();
  });

  it("are closed, again and again, and the work goes on", { timeout: 60_000 }, async () => {
    const worker = await kit.leasehold
      .createWorker({ retry: { type: "fixed", delayMs: 10 } })
      .implementJobType({
        typeName: "work",
        process: async ({ job, complete }) =>
          job.input.n % 2 === 0 ? job.input.n : complete(async () => job.input.n),
      })
      .start({ pollIntervalMs: 50, leaseMs: 6_000, reapIntervalMs: 500, concurrency: 4 });
    // More often than the pool has connections: none of them may stay lost.
    const rounds = 3;
    for (let round = 1; round <= rounds; round += 1) {
      proxy.blackHole();
      proxy.heal();
      const mended = performance.now();
      const sequences = [0, 1, 2, 3].map((n) => ({
        typeName: "work" as const,
        input: { n },
        maxAttempts: 50,
      }));
      await kit.leasehold.startJobSequences({ sequences });
      await until(async () => (await kit.statuses())["completed"] === 4 * round, "all jobs are done");
      expect(performance.now() - mended).toBeLessThan(15_000);
    }
    expect(await worker.stop()).toMatchObject({ clean: true });
  });
});
