import { mostAttempts, type StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { claim, failureOf, newJob } from "../testing/test-jobs.ts";

// What the calls show never has more rows than are to be kept. Whether the others are gone, only the table says.
describe("the table of attempts", () => {
  let fixture: Fixture;
  let pool: pg.Pool;
  let now = Date.UTC(2040, 0, 1);
  beforeAll(async () => {
    fixture = await createPgFixture(inject("postgres18Url"));
    pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
    await fixture.adapter.limits.setRule({ queue: "ruled", typeName: null, change: { concurrency: 100 } });
  });
  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  const start = async (queue: string): Promise<StateJob> => {
    const [created] = await fixture.adapter.createJobs({ jobs: [newJob({ queue, maxAttempts: 100 })], now });
    return created!.job;
  };
  const claimFrom = async (queue: string): Promise<StateJob> => {
    const requests = [{ queue, typeNames: ["work"], limit: 1 }];
    const [job] = await claim(fixture.adapter, { limit: 1, requests, leaseMs: 1_000, now });
    return job!;
  };
  const versions = async (jobId: string): Promise<number[]> => {
    const { rows } = await pool.query<{ lease_version: number }>(
      `SELECT lease_version FROM ${fixture.schema}.job_attempt WHERE job_id = $1 ORDER BY lease_version`,
      [jobId],
    );
    return rows.map(({ lease_version }) => lease_version);
  };

  const ends: Readonly<Record<string, (job: StateJob) => Promise<unknown>>> = {
    retries: (job) => fixture.adapter.commitOutcomes({ outcomes: [failureOf(job, "retry")], now }),
    "leases that are reaped": () => {
      now += 1_000;
      return fixture.adapter.reapExpiredLeases({ limit: 10, error: "gone", now });
    },
    "leases that the next claim takes over": async () => {
      now += 1_000;
    },
  };

  const tooMany = mostAttempts + 5;

  describe.each(["default", "ruled"])("for jobs of the queue %s", (queue) => {
    it.each(Object.entries(ends))("has no more than the latest of a job: %s", async (_name, end) => {
      const { id } = await start(queue);
      for (let time = 0; time <= tooMany; time += 1) await end(await claimFrom(queue));
      const kept = await versions(id);
      expect(kept).toHaveLength(mostAttempts);
      expect(kept[0]).toBe(kept.at(-1)! - mostAttempts + 1);
      expect(kept.at(-1)).toBeGreaterThanOrEqual(tooMany);
      await fixture.adapter.deleteSequences({ rootSequenceIds: [id] });
      expect(await versions(id)).toEqual([]);
    });
  });

  it("has what each outcome of a batch says, also where the first one says more or less than others", async () => {
    const notes = [
      { workerId: "a", deployment: "v1", attempt: 7, log: "first" },
      { workerId: "b", deployment: null, attempt: 8, log: null },
      { workerId: "a", deployment: "v2", attempt: 7, log: "third" },
    ];
    for (const order of [notes, notes.toReversed(), [notes[1]!, ...notes]]) {
      const jobs: StateJob[] = [];
      for (let count = 0; count < order.length; count += 1) {
        await start("default");
        jobs.push(await claimFrom("default"));
      }
      // The order in which they travel.
      jobs.sort((a, b) => (a.id < b.id ? -1 : 1));
      const outcomes = jobs.map((job, index) => failureOf(job, "fail", order[index]));
      await fixture.adapter.commitOutcomes({ outcomes, now });
      const jobIds = jobs.map(({ id }) => id);
      const attempts = await fixture.adapter.history.listAttempts({ jobIds });
      expect(attempts).toMatchObject(order.map((note) => [note]));
    }
  });

  it("has none of a job that was pruned", async () => {
    const { id } = await start("default");
    const outcomes = [failureOf(await claimFrom("default"))];
    await fixture.adapter.commitOutcomes({ outcomes, now });
    expect(await versions(id)).toEqual([1]);
    const rules = [{ sequenceTypeNames: null, completedBefore: now + 1, failedBefore: now + 1 }];
    await fixture.adapter.pruneSequences({ rules, limit: 100, after: null });
    expect(await versions(id)).toEqual([]);
  });
});
