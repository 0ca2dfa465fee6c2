// A process of the tests that waits for a message, and then folds the rollups of all reporters two by two, until there is one left in each stretch of time.
//
//   fork("fold.mjs", [JSON.stringify({ file, driver })])
import { createSqliteStateAdapter } from "@leasehold/sqlite";

// Ends with its parent.
process.on("disconnect", () => process.exit());

const { file, driver } = JSON.parse(process.argv[2]);
const adapter = await createSqliteStateAdapter({ file, driver });
const begun = new Promise((resolve) => process.once("message", resolve));
process.send?.({ ready: true });
await begun;
let [folded, refused] = [0, 0];
const foldSome = async () => {
  const rollups = await adapter.history.readBuckets({ width: 10, from: 0, before: 1e9, limit: 10_000 });
  const pairs = rollups.slice(1).map((rollup, index) => [rollups[index], rollup]);
  const together = pairs.filter(([one, other]) => one.from === other.from);
  for (const [one, other] of together) {
    const counts = String(Number(one.counts) + Number(other.counts));
    const put = [{ ...one, reporterId: "", counts }];
    if (await adapter.history.rollUpBuckets({ remove: [one, other], put })) folded += 1;
    else refused += 1;
  }
  return together.length > 0;
};
while (await foldSome());
await adapter.close();
process.send?.({ folded, refused });
process.disconnect?.();
