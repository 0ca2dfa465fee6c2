import assert from "node:assert/strict";
import type { JobCount } from "../../store/contract/reads.ts";
import { byCreation, readAll } from "./actions-reads.ts";
import { compareRecurring } from "./actions-recurring.ts";
import { queues, typeNames } from "./actions-start.ts";
import { compareLimits } from "./compare-limits.ts";
import { compareHistory } from "./compare-history.ts";
import { assertSameJobs, assertSameSequence } from "./compare.ts";
import { runnable, runnableIn } from "./leases.ts";
import { allJobs, blockersOf, dependantsOf, type ModelStore, sequenceIds } from "./store.ts";
import type { World } from "./world.ts";

const pageSize = 3;

const countedBy = (store: ModelStore): JobCount[] => {
  const counts = new Map<string, JobCount>();
  for (const { queue, typeName, status } of allJobs(store)) {
    const group = [queue, typeName, status].join(" ");
    counts.set(group, { queue, typeName, status, count: (counts.get(group)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
};

const byGroup = (a: JobCount, b: JobCount): number =>
  [a.queue, a.typeName, a.status].join(" ") < [b.queue, b.typeName, b.status].join(" ") ? -1 : 1;

const compareBlockers = async ({ adapter, model, now }: World): Promise<void> => {
  const jobs = allJobs(model);
  const blockers = await adapter.getBlockers({ jobIds: jobs.map(({ id }) => id), now });
  for (const [index, job] of jobs.entries()) {
    const expected = blockersOf(model, job);
    assert.equal(blockers[index]?.length, expected.length, `blockers of ${job.id}`);
    for (const [place, id] of expected.entries()) assertSameSequence(model, blockers[index]?.[place], id);
  }
  for (const sequenceId of sequenceIds(model)) {
    const page = { sequenceId, limit: pageSize, now };
    const blocked = await readAll((after) => adapter.listBlockedJobs({ ...page, after }), pageSize);
    assertSameJobs(blocked, dependantsOf(model, sequenceId).sort(byCreation));
  }
};

const compareQueues = async ({ adapter, model, now }: World): Promise<void> => {
  for (const queue of queues) {
    for (const types of [null, [typeNames[0]], typeNames]) {
      const requests = [{ queue, typeNames: types }];
      for (const maxAttempts of [undefined, { "type-a": 3, "type-b": 1 }])
        assert.equal(
          await adapter.nextRunnableIn({ requests, now, maxAttempts }),
          runnableIn(model, requests, now, maxAttempts),
          `when ${queue} has work of ${types?.join(" or ") ?? "any type"}`,
        );
    }
    const order = runnable(model, { queue, typeNames: null }, now);
    for (const [ahead, { id, status }] of order.entries()) {
      const counted = await adapter.countAhead({ jobId: id, cap: 1_000, now });
      assert.equal(counted, status === "pending" ? ahead : null, `how many are ahead of ${id}`);
    }
  }
};

/** Everything that can be read must be what the model has. */
export const compareVisibleState = async (world: World): Promise<void> => {
  const { adapter, model, now } = world;
  const expected = allJobs(model).sort(byCreation);
  const page = { filter: {}, order: "oldest", limit: pageSize, now } as const;
  assertSameJobs(await readAll((after) => adapter.listJobs({ ...page, after }), pageSize), expected);

  const ids = sequenceIds(model);
  const sequences = await adapter.getSequences({ sequenceIds: ids, now });
  for (const [index, id] of ids.entries()) assertSameSequence(model, sequences[index], id);

  const counts = await adapter.countJobs({ filter: {}, now });
  assert.deepEqual(counts.map((count) => ({ ...count })).sort(byGroup), countedBy(model).sort(byGroup));

  await compareBlockers(world);
  await compareQueues(world);
  await compareLimits(world);
  await compareRecurring(world);
  await compareHistory(world);
};
