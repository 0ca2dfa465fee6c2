// Mistakes in the rules that every store shares. They are hunted with the tests of the SQLite store, which are quick and
// use all of them. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src/rules");
export const ruleBugs = bugs;

plant("outcomes.ts", [
  [
    "an outcome again is refused",
    ["if (state.leaseToken === leaseToken && state.status === statusAfter[outcome.kind])", "if (false)"],
  ],
  [
    "a job that has ended can be completed from outside",
    ['isTerminal(state.status) ? refuse("not_running", state) : undefined', "undefined"],
  ],
  [
    "a lock does not outlive the lease",
    ['refusal?.reason === "lease_expired" && outcome.locked === true ? undefined : refusal', "refusal"],
  ],
  [
    "a continued sequence counts as completed",
    ['outcome.kind === "complete" && outcome.continuedToId === null', 'outcome.kind === "complete"'],
  ],
]);

plant("claim-limits.ts", [
  ["what a repeated claim holds does not count for its request", ["if (index >= 0) free[index]! -= 1;", ""]],
]);

plant("cancellation.ts", [
  ["what has completed is cancelled", ['if (job.status === "completed") return "already_completed";', ""]],
  [
    "what has failed is reported as cancelled",
    ['job.failureReason === "cancelled" ? "cancelled" : "already_failed"', '"cancelled"'],
  ],
]);
