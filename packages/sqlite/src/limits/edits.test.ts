import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, newJob } from "../testing/jobs.ts";
import { createTestStore, openRaw, type TestStore } from "../testing/store.ts";

const groups = 2_500;
const hour = 3_600_000;

let store: TestStore;

const perGroup = (perMs: number) => ({ concurrency: null, rate: { limit: 1, perMs, burst: 1 } });

const setRule = (change: object): Promise<unknown> =>
  store.adapter.limits.setRule({ queue: "queue", typeName: "type", change });

/** Groups that claims have not come to since the last change of a rule. */
const countLeft = async (): Promise<unknown> => {
  const raw = await openRaw(store.file);
  const [count] = raw.first("SELECT count(*) FROM leasehold_group_state WHERE claimable_at = 0", [])!;
  raw.close();
  return count;
};

const nextRunnableIn = (): Promise<number | null> =>
  store.adapter.nextRunnableIn({ requests: [{ queue: "queue", typeNames: null }] });

describe("a change of the rate of many waiting groups", () => {
  beforeEach(async () => {
    store = await createTestStore();
    await setRule({ perGroup: perGroup(hour) });
    for (let job = 0; job < 2; job += 1)
      await store.adapter.createJobs({
        jobs: Array.from({ length: groups }, (_, index) => newJob({ group: `group-${index}` })),
      });
    expect(await claimAll(store.adapter, 10_000)).toHaveLength(groups);
    expect(await claimAll(store.adapter)).toEqual([]);
  });

  afterEach(() => store.destroy());

  it("lets each claim check a thousand of them, and workers are to claim again until all are checked", async () => {
    await setRule({ perGroup: perGroup(2 * hour) });
    const left = [await countLeft()];
    for (let round = 0; round < 3; round += 1) {
      if (Number(left.at(-1)) > 1_000) expect(await nextRunnableIn()).toBe(0);
      expect(await claimAll(store.adapter)).toEqual([]);
      left.push(await countLeft());
    }
    expect(left).toEqual([2_500, 1_500, 500, 0]);
    expect(await nextRunnableIn()).toBeGreaterThan(hour / 2);
  });

  it("lets claims take the jobs of a thousand of them at a time after the rate is removed", async () => {
    await setRule({ perGroup: null });
    const taken: number[] = [];
    for (let round = 0; round < 4; round += 1) taken.push((await claimAll(store.adapter, 10_000)).length);
    expect(taken).toEqual([1_000, 1_000, 500, 0]);
  });
});
