// Simulates many seeds: `npm run simulate -- --seeds 10000 --from 1`. A seed that fails is shrunk and told as a timeline.
import { parseArgs } from "node:util";
import { formatTimeline, shrinkSimulation, simulate } from "../packages/core/dist/testing.js";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    /** Tells the story of a seed whether it fails or not, and as it is. */
    show: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const count = Number(values.seeds);
if (!Number.isSafeInteger(from) || !Number.isSafeInteger(count) || count < 1) {
  console.error("--seeds and --from take whole numbers.");
  process.exit(2);
}

const startedAt = performance.now();
for (let seed = from; seed < from + count; seed += 1) {
  const result = await simulate({ seed });
  if (values.show) console.log(formatTimeline(result));
  if (result.violations.length === 0) continue;
  console.log(`Seed ${seed} fails:`);
  for (const { invariant, message } of result.violations.slice(0, 10))
    console.log(`  ${invariant}: ${message}`);
  if (!values.show)
    console.log(`\nThe smallest story found:\n\n${formatTimeline(await shrinkSimulation({ seed }))}`);
  process.exit(1);
}
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `${count} seeds from ${from} hold every invariant: ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} seeds/s.`,
);
