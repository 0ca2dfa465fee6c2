import assert from "node:assert/strict";
import type { NewJobDeduplication } from "../../../store/contract/creation.ts";
import type { StateSuite } from "../../state-suite.ts";

const replacing: NewJobDeduplication = {
  key: "key",
  scope: "pending",
  windowMs: null,
  onDuplicate: "replace",
};

export const describeReplacementRaces = ({ test }: StateSuite): void => {
  test("of fifty concurrent starts one creates, and the last to be accepted counts", async (scenario) => {
    const { adapter, newJob } = scenario;
    const starts = Array.from({ length: 50 }, (_, index) =>
      newJob({ deduplication: replacing, input: String(index) }),
    );
    const answers = (await Promise.all(starts.map((job) => adapter.createJobs({ jobs: [job] })))).map(
      ([answer]) => answer!,
    );
    assert.equal(answers.filter(({ deduplicated }) => !deduplicated).length, 1);
    assert.equal(answers.filter(({ replaced }) => replaced).length, 49);
    const [only, ...others] = await scenario.claim({ now: Date.now() + 60_000 });
    assert.deepEqual(others, []);
    // Which start came last, the store knows.
    const last = starts.find(({ id }) => id === only?.replacedBy);
    assert.equal(only?.input, last?.input);
  }, 60_000);

  test("a claim gets the old input and a second job the new one, or the claim the new one", async (scenario) => {
    const { adapter, newJob } = scenario;
    for (let round = 0; round < 20; round += 1) {
      const deduplication = { ...replacing, key: `key-${round}` };
      await adapter.createJobs({ jobs: [newJob({ deduplication, input: "old" })] });
      const now = Date.now() + 60_000;
      const [claimed, [answer]] = await Promise.all([
        scenario.claim({ now }),
        adapter.createJobs({ jobs: [newJob({ deduplication, input: "new" })] }),
      ]);
      const later = await scenario.claim({ now });
      const inputs = [...claimed, ...later].map(({ input }) => input);
      assert.deepEqual(inputs, answer?.replaced === true ? ["new"] : ["old", "new"], `round ${round}`);
    }
  }, 60_000);
};
