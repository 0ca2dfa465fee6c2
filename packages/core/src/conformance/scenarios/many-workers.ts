import assert from "node:assert/strict";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until, within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

// Longer than any test: what happens in one of these happens without polling.
const never = 600_000;

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

  test(
    "jobs claimed in advance go to another worker when slow ones hold them up",
    jobTypes,
    async (story) => {
      const { leasehold, openAnother, queue } = story;
      const hoarder = await openAnother();
      const other = await openAnother();
      const stuck = createGate();
      const goOn = createGate();
      let held = 0;
      const worker = await hoarder.work(
        hoarder.leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => {
            // Quick until others wait behind it in this worker; the first that finds them holds them up.
            if (worker.health().bufferedJobs > 0) {
              held += 1;
              stuck.open();
              await goOn.opened;
            }
            return job.input.n;
          },
        }),
        { concurrency: 1, prefetch: 20 },
      );
      const sequences = Array.from({ length: 500 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
      await leasehold.startJobSequences({ sequences });
      await within(stuck.opened, "a job with others behind it");
      await other.work(
        other.leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => job.input.n,
        }),
        { concurrency: 50, pollIntervalMs: never },
      );

      const completed = (): number =>
        hoarder.events.all("jobCompleted").length + other.events.all("jobCompleted").length;
      await until(() => completed() === 499, "all others have completed while one job runs");

      goOn.open();
      await until(() => completed() === 500, "all jobs have completed");
      assert.equal(held, 1);
      const { jobs } = await leasehold.jobs.list({ queue, limit: 1_000 });
      assert.ok(jobs.every(({ attempt, lastError }) => attempt === 1 && lastError === null));
    },
  );

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
