// A process of the tests that waits for a message, and then adds up the statistics buckets of all processes two by two, until
// one is left for each time.
//
//   fork("roll-up.mjs", [JSON.stringify({ file, driver })])
import { createSqliteStateAdapter } from "@leasehold/sqlite";

// Ends with its parent.
process.on("disconnect", () => process.exit());

const { file, driver } = JSON.parse(process.argv[2]);
const adapter = await createSqliteStateAdapter({ file, driver });
const begun = new Promise((resolve) => process.once("message", resolve));
process.send?.({ ready: true });
await begun;
let [rolledUp, refused] = [0, 0];
const rollUpSome = async () => {
  const buckets = await adapter.history.readBuckets({ bucketMs: 10, from: 0, before: 1e9, limit: 10_000 });
  const pairs = buckets.slice(1).map((bucket, index) => [buckets[index], bucket]);
  const together = pairs.filter(([one, other]) => one.from === other.from);
  for (const [one, other] of together) {
    const counts = String(Number(one.counts) + Number(other.counts));
    const put = [{ ...one, processId: "", counts }];
    if (await adapter.history.rollUpBuckets({ remove: [one, other], put })) rolledUp += 1;
    else refused += 1;
  }
  return together.length > 0;
};
while (await rollUpSome());
await adapter.close();
process.send?.({ rolledUp, refused });
process.disconnect?.();
