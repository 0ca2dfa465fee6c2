// A producer process of the tests: starts jobs one by one, in bulk and in transactions, and tells its parent their ids
// once they are acknowledged.
//
//   fork("produce.mjs", [JSON.stringify({ file, driver, jobs })])
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createSqliteStateAdapter } from "@leasehold/sqlite";

const { file, driver, jobs } = JSON.parse(process.argv[2]);
const tell = (message) => process.send?.(message);
// Ends with its parent.
process.on("disconnect", () => process.exit());

const stateAdapter = await createSqliteStateAdapter({ file, driver });
const leasehold = await createLeasehold({
  stateAdapter,
  jobTypes: defineUnionJobTypes(),
  log: ({ event, data }) => {
    if (event === "stateAdapterError") tell({ error: `${data.operation}: ${String(data.error)}` });
  },
});

// A job may be running each time a worker is killed, and must survive that.
const sequence = (input) => ({ typeName: "count", input, maxAttempts: 100 });
const ways = [
  async (number) => [await leasehold.startJobSequence(sequence(number))],
  (number) => leasehold.startJobSequences({ sequences: Array.from({ length: 10 }, () => sequence(number)) }),
  (number) =>
    leasehold.runInTransaction(async (ctx) => [
      await leasehold.startJobSequence({ ...ctx, ...sequence(number) }),
      await leasehold.startJobSequence({ ...ctx, ...sequence(number) }),
    ]),
];
for (let started = 0, turn = 0; started < jobs; turn += 1) {
  const sequences = await ways[turn % ways.length](turn);
  started += sequences.length;
  tell({ started: sequences.map(({ id }) => id) });
}
await leasehold.close();
await stateAdapter.close();
process.disconnect?.();
