import pg from "pg";
import { expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { createPgFixture } from "../testing/fixtures.ts";
import { claim, newJob } from "../testing/test-jobs.ts";

it("keeps a failed job that is redriven while pruning is about to lock it", async () => {
  const { adapter, schema, destroy } = await createPgFixture(inject("postgres18Url"));
  const pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 2 });
  const provider = createPgPoolStateProvider({ pool });
  const redriven: string[] = [];
  const pruning = await createPgStateAdapter({
    schema,
    stateProvider: {
      ...provider,
      executeSql: async (ctx, statement) => {
        if (statement.sql.includes("FOR UPDATE SKIP LOCKED")) {
          const [result] = await adapter.redriveJobs({ jobIds: [job!.id] });
          redriven.push(result!.kind);
        }
        return provider.executeSql(ctx, statement);
      },
    },
  });

  await adapter.createJobs({ jobs: [newJob()] });
  const [job] = await claim(adapter, { limit: 1 });
  await adapter.commitOutcomes({
    outcomes: [
      {
        kind: "fail",
        jobId: job!.id,
        leaseToken: job!.leaseToken,
        reason: "attempts_exhausted",
        error: null,
      },
    ],
  });
  const rules = [
    { sequenceTypeNames: null, completedBefore: null, failedBefore: Number.MAX_SAFE_INTEGER },
  ] as const;
  const pruned = await pruning.pruneSequences({ rules, limit: 10, after: null });

  expect(redriven).toEqual(["redriven"]);
  expect(pruned).toMatchObject({ deletedJobs: 0 });
  expect((await adapter.getJobs({ jobIds: [job!.id] }))[0]).toMatchObject({ status: "pending" });
  await pruning.close();
  await pool.end();
  await destroy();
});
