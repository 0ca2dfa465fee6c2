import assert from "node:assert/strict";
import type { CreatedStateJob, NewJobDeduplication } from "../../../store/contract/creation.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const unfinished: NewJobDeduplication = { key: "key", scope: "unfinished", windowMs: null };
const ever: NewJobDeduplication = { key: "key", scope: "all", windowMs: null };

const offer = async (
  { adapter, newJob }: StateScenario,
  deduplication: NewJobDeduplication | null,
  { now = baseTime, typeName }: { now?: number; typeName?: string } = {},
): Promise<CreatedStateJob> => {
  const [created] = await adapter.createJobs({
    jobs: [newJob({ deduplication, ...(typeName === undefined ? {} : { typeName }) })],
    now,
  });
  assert.ok(created);
  return created;
};

export const describeDeduplication = ({ test }: StateSuite): void => {
  test("answers a second start of a key with the first one's job and stores nothing", async (scenario) => {
    const first = await offer(scenario, unfinished);
    assert.equal(first.deduplicated, false);
    assert.equal(first.job.deduplicationKey, "key");
    assert.deepEqual(await offer(scenario, unfinished, { now: baseTime + 1 }), {
      job: first.job,
      deduplicated: true,
    });
    const { jobs } = await scenario.adapter.listJobs({
      filter: { queues: [scenario.queue] },
      order: "oldest",
      limit: 10,
      after: null,
    });
    assert.deepEqual(jobs, [first.job]);
  });

  test("keeps other keys, other types and jobs without a key apart", async (scenario) => {
    await offer(scenario, unfinished);
    assert.equal((await offer(scenario, { ...unfinished, key: "KEY" })).deduplicated, false);
    assert.equal(
      (await offer(scenario, unfinished, { typeName: `${scenario.typeName}-2` })).deduplicated,
      false,
    );
    assert.equal((await offer(scenario, null)).deduplicated, false);
  });

  test("does not mix up where the type ends and the key begins", async (scenario) => {
    const { typeName } = scenario;
    await offer(scenario, { ...unfinished, key: "b:c" }, { typeName: `${typeName}:a` });
    const other = await offer(scenario, { ...unfinished, key: "c" }, { typeName: `${typeName}:a:b` });
    assert.equal(other.deduplicated, false);
  });

  test("sees the earlier jobs of the same call", async ({ adapter, newJob }) => {
    const jobs = [1, 2, 3].map(() => newJob({ deduplication: unfinished }));
    const created = await adapter.createJobs({ jobs, now: baseTime });
    assert.deepEqual(
      created.map(({ job, deduplicated }) => [job.id, deduplicated]),
      [
        [jobs[0]?.id, false],
        [jobs[0]?.id, true],
        [jobs[0]?.id, true],
      ],
    );
  });

  for (const ending of [completion, failure]) {
    test(`with scope "unfinished", a sequence that is over (${ending.kind}) is no duplicate`, async (scenario) => {
      const { job } = await offer(scenario, unfinished);
      await scenario.endWorkerless(job, ending);
      assert.equal((await offer(scenario, unfinished)).deduplicated, false);
    });

    test(`with scope "all", a sequence that is over (${ending.kind}) is a duplicate`, async (scenario) => {
      const { job } = await offer(scenario, ever);
      await scenario.endWorkerless(job, ending);
      const again = await offer(scenario, ever);
      assert.equal(again.deduplicated, true);
      assert.equal(again.job.id, job.id);
    });
  }

  test("a running sequence is a duplicate", async (scenario) => {
    const { job } = await offer(scenario, unfinished);
    await scenario.run(job);
    assert.equal((await offer(scenario, unfinished)).deduplicated, true);
  });

  test("a sequence with an unfinished continuation is a duplicate, and its first job the answer", async (scenario) => {
    const { job } = await offer(scenario, unfinished);
    const continuation = await scenario.continueSequence(await scenario.run(job));
    const again = await offer(scenario, unfinished);
    assert.equal(again.deduplicated, true);
    assert.deepEqual(again.job, await scenario.reload(job));

    await scenario.endWorkerless(continuation, completion);
    assert.equal((await offer(scenario, unfinished)).deduplicated, false);
  });

  test("a sequence whose continuation fails for the sake of a blocker is no duplicate", async (scenario) => {
    const { adapter } = scenario;
    const { job } = await offer(scenario, unfinished);
    const continuation = await scenario.continueSequence(await scenario.run(job), { awaitsBlockers: true });
    const broken = await scenario.start();
    await scenario.endWorkerless(broken, failure);
    assert.equal((await offer(scenario, unfinished)).deduplicated, true);
    await adapter.runInTransaction((ctx) =>
      adapter.addJobBlockers({
        jobId: continuation.id,
        blockerSequenceIds: [broken.id],
        ctx,
        now: baseTime,
      }),
    );
    assert.equal((await offer(scenario, unfinished)).deduplicated, false);
  });

  for (const scope of ["unfinished", "all"] as const) {
    test(`with scope "${scope}", only sequences younger than the window count`, async (scenario) => {
      const deduplication = { key: "key", scope, windowMs: 1_000 };
      const { job } = await offer(scenario, deduplication);
      const within = await offer(scenario, deduplication, { now: baseTime + 999 });
      assert.deepEqual([within.deduplicated, within.job.id], [true, job.id]);
      assert.equal((await offer(scenario, deduplication, { now: baseTime + 1_000 })).deduplicated, false);
    });
  }

  test("a deleted sequence is no duplicate", async (scenario) => {
    const { job } = await offer(scenario, ever);
    await scenario.adapter.deleteSequences({ rootSequenceIds: [job.id], now: baseTime });
    assert.equal((await offer(scenario, ever)).deduplicated, false);
  });

  test("a failed sequence that was redriven is a duplicate again", async (scenario) => {
    const { job } = await offer(scenario, unfinished);
    await scenario.endWorkerless(job, failure);
    await scenario.adapter.redriveJobs({ jobIds: [job.id], now: baseTime });
    assert.equal((await offer(scenario, unfinished)).deduplicated, true);
  });

  test("an id that exists is an error even where the key is a duplicate", async (scenario) => {
    const { job } = await offer(scenario, unfinished);
    await assert.rejects(
      scenario.adapter.createJobs({
        jobs: [scenario.newJob({ id: job.id, deduplication: unfinished })],
        now: baseTime,
      }),
      { code: "JobAlreadyExists" },
    );
  });
};
