// Mistakes in the use cases of jobs that the simulation does not run. They are hunted with the stories on SQLite, which are
// quick. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src/jobs");
export const jobBugs = bugs;

plant("children.ts", [
  [
    "children that are started meanwhile are not cancelled",
    ["hasFound = true;\n        yield below;", "yield below;"],
  ],
  [
    "a cancelled sequence takes the whole tree along",
    ["return sequenceIds.filter(isBelow);", "return [...sequenceIds];"],
  ],
]);

plant("new-job.ts", [
  [
    "the tree of a cancelled job grows",
    ['if (origin?.attempt?.abortReason === "cancelled" && !predecessor && !isDetached)', "if (false)"],
  ],
  ["debounce drops a start while the job runs", ['scope: "pending",', 'scope: "unfinished",']],
  ["debounce puts a job off without a bound", ["maxDelayMs: maxWaitMs }", "maxDelayMs: longestDurationMs }"]],
]);
