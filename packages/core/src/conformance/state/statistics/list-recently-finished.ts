import assert from "node:assert/strict";
import { requirePart } from "../../../store/parts.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

export const describeListRecentlyFinished = ({ testAlone: test }: StateSuite): void => {
  test("lists jobs that finished lately, the latest first", async (scenario) => {
    const { adapter, queue } = scenario;
    const statistics = requirePart(adapter, "statistics", "The suite of listRecentlyFinished");
    const [early, one, two] = await scenario.startMany([{}, {}, {}]);
    assert.ok(early && one && two);
    const child = await scenario.start({ rootSequenceId: one.id });
    await scenario.endWorkerless(early, completion, baseTime + 10);
    await scenario.endWorkerless(one, completion, baseTime + 20);
    await scenario.endWorkerless(two, failure, baseTime + 30);
    await scenario.endWorkerless(child, completion, baseTime + 40);
    await scenario.start();
    const list = async (limit: number) =>
      (await statistics.listRecentlyFinished({ from: baseTime + 20, limit }))
        .filter((job) => job.queue === queue)
        .map(({ status, createdAt, finishedAt, typeName }) => [status, createdAt, finishedAt, typeName]);
    const all = [
      ["completed", baseTime, baseTime + 40, child.typeName],
      ["failed", baseTime, baseTime + 30, two.typeName],
      ["completed", baseTime, baseTime + 20, one.typeName],
    ];
    assert.deepEqual(await list(100), all);
    assert.ok((await list(1)).length <= 1);
  });
};
