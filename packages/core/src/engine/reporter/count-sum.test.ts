import fc from "fast-check";
import { expect, it } from "vitest";
import { failureReasons } from "../../model/job.ts";
import { createCountSum } from "./count-sum.ts";
import { encodeCounts, mergeCounts, readCounts, type StoredCounts } from "./counts.ts";
import { lastStep } from "./histogram.ts";

const count = fc.integer({ min: 1, max: 2 ** 40 });
const histogram = fc.dictionary(fc.integer({ min: 0, max: lastStep }).map(String), count);
const known = {
  created: count,
  completed: count,
  retried: count,
  givenBack: count,
  reaped: count,
  failed: fc.dictionary(fc.constantFrom(...failureReasons), count),
  timeToStart: histogram,
  runTime: histogram,
};
const usual: fc.Arbitrary<string> = fc
  .record(known, { requiredKeys: [] })
  .map((counts) => encodeCounts(counts as StoredCounts));
/** Of a later release, of another writer, or damaged. */
const unusual: fc.Arbitrary<string> = fc.oneof(
  fc
    .record({ ...known, stopped: count, byHost: fc.dictionary(fc.string(), histogram) })
    .map((counts) => JSON.stringify(counts)),
  fc
    .record({ ...known, created: fc.oneof(fc.constant(0.5), fc.integer()) })
    .map((counts) => JSON.stringify(counts, null, 1)),
  fc
    .record({ runTime: fc.dictionary(fc.constantFrom("61", "007", "-1", "1e1", "__proto__"), count) })
    .map((counts) => JSON.stringify(counts)),
  fc
    .tuple(usual, fc.nat(), fc.string({ maxLength: 3 }))
    .map(([text, at, noise]) => text.slice(0, at % (text.length + 1)) + noise),
  fc.json(),
);

it("adds up what was stored, whatever it looks like", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(usual, unusual)), (texts) => {
      const sum = createCountSum();
      for (const text of texts) sum.add(text);
      expect(sum.read()).toEqual(readCounts(mergeCounts(texts)));
    }),
    { numRuns: 500 },
  );
});
