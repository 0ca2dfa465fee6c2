// A transfer that must not overlap with another one, and a job that checks the sum of all accounts.
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import type pg from "pg";

const jobTypes = defineUnionJobTypes<{ audit: { input: null; output: { sum: number } } }>();

const sumOf = async (client: pg.PoolClient): Promise<number> => {
  const { rows } = await client.query<{ sum: string }>("SELECT sum(balance) FROM accounts");
  return Number(rows[0]?.sum);
};

export const main = async (pool: pg.Pool, schema: string, print: (line: string) => void): Promise<void> => {
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });

  // #region levels
  const transfer = (amount: number) =>
    leasehold.runInTransaction(
      async ({ client }) => {
        if ((await sumOf(client)) < amount) throw new Error("insufficient funds");
        await client.query("INSERT INTO accounts (balance) VALUES ($1)", [-amount]);
        return leasehold.startJobSequence({ client, typeName: "audit", input: null });
      },
      { isolationLevel: "serializable" },
    );

  const auditor = leasehold.createWorker().implementJobType({
    typeName: "audit",
    process: async ({ complete }) =>
      complete(async ({ client }) => ({ sum: await sumOf(client) }), { isolationLevel: "repeatable read" }),
  });
  // #endregion

  const attempts = await Promise.allSettled([transfer(70), transfer(70)]);
  for (const { status } of attempts) print(status);
  const worker = await auditor.start({ pollIntervalMs: 20 });
  for (const attempt of attempts) {
    if (attempt.status === "rejected") continue;
    const { output } = await leasehold.waitForJobSequenceCompletion(attempt.value);
    print(`${output.sum} left`);
  }
  await worker.stop();
  await stateAdapter.close();
};
