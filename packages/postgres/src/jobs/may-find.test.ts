import { expect, inject, it, vi } from "vitest";
import { openKit } from "../testing/kit.ts";

it("a look for expired leases and late jobs that finds nothing is one statement, without a transaction", async () => {
  const statements: string[] = [];
  const transactions = vi.fn();
  const kit = await openKit({
    url: inject("postgres18Url"),
    wrapProvider: (provider) => ({
      ...provider,
      executeSql: (ctx, statement) => {
        statements.push(statement.sql);
        return provider.executeSql(ctx, statement);
      },
      runInTransaction: (callback, options) => {
        transactions();
        return provider.runInTransaction(callback, options);
      },
    }),
  });
  const { stateAdapter } = kit;
  const look = async (): Promise<number> => {
    statements.length = 0;
    transactions.mockClear();
    const reaped = await stateAdapter.reapExpiredLeases({ limit: 100, error: "{}" });
    const expired = await stateAdapter.edits.expireWaitingJobs({ limit: 100, error: "{}" });
    return reaped.length + expired.length;
  };
  await kit.start(1);
  expect(await look()).toBe(0);
  expect(transactions).not.toHaveBeenCalled();
  expect(statements).toHaveLength(2);

  // With something to find, it begins one for each.
  await stateAdapter.claimJobs({
    workerId: "gone",
    leaseToken: "3e0c2f6e-2d0c-4f0f-9a0b-2b9c3d7d1d11",
    leaseMs: 1,
    requests: [{ queue: "default", typeNames: ["work"], limit: 1 }],
    limit: 1,
  });
  await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 2 }, expireAfterMs: 1 });
  await vi.waitUntil(
    async () =>
      (
        await kit.rows(`SELECT 1 FROM $schema.job
    WHERE least(due_at, scheduled_at + expire_after_ms) < extract(epoch FROM clock_timestamp()) * 1000`)
      ).length === 2,
  );
  expect(await look()).toBe(2);
  expect(transactions).toHaveBeenCalledTimes(2);
  await kit.close();
});
