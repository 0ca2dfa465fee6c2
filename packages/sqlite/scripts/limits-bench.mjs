// The cost of groups and limits: drains grouped and plain jobs alternately, a batch of each at a time, so that other load on
// the machine affects both alike. Compare the ratios with those of another machine, not the times.
//
//   npm run build && node packages/sqlite/scripts/limits-bench.mjs [--jobs 20000] [--batch 100] [--driver libsql]
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "20000" },
    batch: { type: "string", default: "100" },
    driver: { type: "string", default: "libsql" },
  },
});
const [jobs, batch] = [Number(values.jobs), Number(values.batch)];

const scenarios = {
  "limit of the queue, not reached": { groups: 0, rule: { concurrency: 1_000_000 } },
  "1 group, limit not reached": { groups: 1, rule: { perGroup: { concurrency: 1_000_000 } } },
  "100 groups, at most 50 of each": { groups: 100, rule: { perGroup: { concurrency: 50 } } },
  "100,000 groups, one at a time": { groups: 100_000, rule: { perGroup: { concurrency: 1 } } },
};

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

const open = async (file, { groups, rule }) => {
  const stateAdapter = await createSqliteStateAdapter({ file, driver: values.driver });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  if (rule !== undefined) await leasehold.limits.set({ queue: "default", ...rule });
  return { stateAdapter, leasehold, groups, starts: [], drains: [] };
};

const timed = async (times, work) => {
  const from = performance.now();
  const result = await work();
  times.push(performance.now() - from);
  return result;
};

const startBatch = ({ leasehold, groups, starts }, from) => {
  const sequences = Array.from({ length: batch }, (_, index) => ({
    typeName: "mail",
    input: { to: "someone@example.com", template: "welcome" },
    ...(groups > 0 && { group: `group-${(from + index) % groups}` }),
  }));
  return timed(starts, () => leasehold.startJobSequences({ sequences }));
};

const drainBatch = ({ stateAdapter, drains }) =>
  timed(drains, async () => {
    const claimed = await stateAdapter.claimJobs({
      workerId: "bench",
      leaseToken: randomUUID(),
      leaseMs: 30_000,
      requests: [{ queue: "default", typeNames: ["mail"], limit: batch }],
      limit: batch,
    });
    if (claimed.length < batch) throw new Error(`A claim got ${claimed.length} jobs.`);
    const outcomes = claimed.map(({ id, leaseToken }) => ({
      kind: "complete",
      jobId: id,
      leaseToken,
      output: "null",
      continuedToId: null,
      completedBy: "bench",
    }));
    await stateAdapter.commitOutcomes({ outcomes });
  });

for (const [name, scenario] of Object.entries(scenarios)) {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
  const plain = await open(join(folder, "plain.db"), { groups: 0 });
  const grouped = await open(join(folder, "grouped.db"), scenario);
  for (const step of [startBatch, drainBatch]) {
    for (let done = 0; done < jobs; done += batch) {
      const isEven = (done / batch) % 2 === 0;
      for (const side of isEven ? [plain, grouped] : [grouped, plain]) await step(side, done);
    }
  }
  const ratio = (times) => (median(plain[times]) / median(grouped[times])).toFixed(2);
  process.stdout.write(`${name.padEnd(34)} start ${ratio("starts")}, drain ${ratio("drains")} x plain\n`);
  for (const { stateAdapter } of [plain, grouped]) await stateAdapter.close();
  await rm(folder, { recursive: true, force: true });
}
