import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";

export const describeClose = ({ testAlone }: StateSuite): void => {
  testAlone(
    "after close every call is refused, and closing again does no harm",
    async ({ adapter, newJob, claim }) => {
      await adapter.close();
      await adapter.close();
      const closed = { code: "AdapterClosed" };
      await assert.rejects(adapter.createJobs({ jobs: [newJob()], now: baseTime }), closed);
      await assert.rejects(claim(), closed);
      await assert.rejects(adapter.commitOutcomes({ outcomes: [], now: baseTime }), closed);
      await assert.rejects(adapter.getJobs({ jobIds: [] }), closed);
      await assert.rejects(adapter.getTime(), closed);
      await assert.rejects(
        adapter.runInTransaction(async () => assert.fail("must not run")),
        closed,
      );
      await assert.rejects(
        adapter.provideContext(async () => assert.fail("must not run")),
        closed,
      );
    },
  );
};
