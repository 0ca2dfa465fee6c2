import assert from "node:assert/strict";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: { n: number }; output: number };
  sum: { input: null; output: number; blockers: [DefineBlocker<"work">, DefineBlocker<"work">] };
}>();

export const describeManyWorkers: Scenario = ({ test }) => {
  test("of five hundred jobs over three workers each runs exactly once", jobTypes, async (story) => {
    const { leasehold, openAnother, queue } = story;
    const runs = new Map<number, number>();
    const apps = [await openAnother(), await openAnother(), await openAnother()];
    // The first jobs of a worker end once every worker has one.
    const firstJobs = new Map(apps.map((_, index) => [`worker-${index}`, createGate()]));
    const allBusy = Promise.all([...firstJobs.values()].map(({ opened }) => opened));
    for (const [index, app] of apps.entries()) {
      await app.work(
        app.leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => {
            runs.set(job.input.n, (runs.get(job.input.n) ?? 0) + 1);
            firstJobs.get(job.leasedBy)!.open();
            await allBusy;
            return job.input.n;
          },
        }),
        { workerId: `worker-${index}`, concurrency: 5 },
      );
    }
    const sequences = Array.from({ length: 500 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
    await leasehold.startJobSequences({ sequences });

    const completed = (): number =>
      apps.reduce((sum, { events }) => sum + events.all("jobCompleted").length, 0);
    await until(() => completed() >= 500, "all jobs have completed");

    assert.equal(completed(), 500);
    assert.equal(runs.size, 500);
    assert.ok([...runs.values()].every((count) => count === 1));
    const { jobs } = await leasehold.jobs.list({ queue, limit: 1_000 });
    assert.ok(jobs.every(({ status, attempt }) => status === "completed" && attempt === 1));
  });

  test("jobs whose last two blockers finish together are not stranded", jobTypes, async (story) => {
    const { leasehold, openAnother, completion } = story;
    for (const app of [await openAnother(), await openAnother()]) {
      await app.work(
        app.leasehold
          .createWorker()
          .implementJobType({ typeName: "work", process: async ({ job }) => job.input.n })
          .implementJobType({
            typeName: "sum",
            process: async ({ job }) => job.blockers[0].output + job.blockers[1].output,
          }),
      );
    }
    const started = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        leasehold.startJobSequence({
          typeName: "sum",
          startBlockers: async () => [
            await leasehold.startJobSequence({ typeName: "work", input: { n } }),
            await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } }),
          ],
        }),
      ),
    );
    for (const [n, sequence] of started.entries()) assert.equal((await completion(sequence)).output, n + 1);
  });
};
