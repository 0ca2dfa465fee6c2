// Mistakes in the rules that every store shares. They are hunted with the tests of the SQLite store, which are quick and
// use all of them. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src/store/rules");
export const ruleBugs = bugs;

plant("checks.ts", [
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

plant("checks.ts", [
  ["what a repeated claim holds does not count for its request", ["if (index >= 0) free[index]! -= 1;", ""]],
]);

plant("checks.ts", [
  ["what has completed is cancelled", ['if (job.status === "completed") return "already_completed";', ""]],
  [
    "what has failed is reported as cancelled",
    ['job.failureReason === "cancelled" ? "cancelled" : "already_failed"', '"cancelled"'],
  ],
]);

plant("dependants.ts", [
  ["jobs that wait whatever happens fail with their blocker", [' || job.onBlockerFailure === "wait"', ""]],
  ["jobs that do not wait fail with their blocker", ['job.status !== "blocked" || ', ""]],
  ["a failure stops at the first level", ["next.push({ ...job, lastError: error });", ""]],
]);

plant("dependants.ts", [
  ["cycles through several jobs are not found", ["found.push(waiting.sequenceId);", ""]],
]);

plant("redrive.ts", [
  [
    "a job is revived beside a failed blocker",
    ["if (mindsFailure && (yield* answer(port.hasFailedBlocker(job))))", "if (false)"],
  ],
  [
    "a job is revived beside a live duplicate",
    ["if (yield* answer(port.hasLiveDuplicate(job)))", "if (false)"],
  ],
  [
    "a revived job waits for itself",
    ["if (job.openBlockers > 0 && (yield* answer(port.waitsForItself(job))))", "if (false)"],
  ],
  ["what depends on a revived job stays failed", ["yield* reviveDependants(port, job.sequenceId)", "[]"]],
  [
    "jobs that did not fail are reported as redriven",
    ['else if (job.status !== "failed") decided', 'else if (job.status === "blocked") decided'],
  ],
  [
    "what failed by itself is revived with its blocker",
    ['if (job.failureReason !== "blocker_failed") continue;', 'if (job.status !== "failed") continue;'],
  ],
  ["a job named before its blocker stays failed", ["undecided = left;", "undecided = left; break;"]],
]);

plant("turns.ts", [
  [
    "a claim does not count in groups",
    ["if (limits.concurrency !== null) group.running += 1;", ""],
    [
      "closeIfThrottled(group)) return job;",
      "closeIfThrottled({ ...group, running: group.running + group.taken })) return job;",
    ],
  ],
  [
    "a claim counts in groups what it has only read",
    [
      "const claimable = found.filter(",
      "for (const each of found) each.running += 1;\n      const claimable = found.filter(",
    ],
  ],
  [
    "the tokens of groups are not spent",
    ["group.bucketFullAt = spendToken(limits, group.bucketFullAt, now);", ""],
  ],
  ["weights count for nothing", ["group.virtualTime += 1 / group.weight;", "group.virtualTime += 1;"]],
  ["a group that was served keeps its turn", ["group.virtualTime += 1 / group.weight;", ""]],
  [
    "a stopped group is served",
    [
      'stoppedBy === null ? findReachedLimit(limits, group, now) : "stopped"',
      "findReachedLimit(limits, group, now)",
    ],
  ],
  [
    "others overtake a job that waits for its retry",
    ["else if (head.dueAt > now) close(each, head.dueAt);", ""],
  ],
  ["a claim does not count in queues and types", ["  state.running += 1;\n  return true;", "  return true;"]],
  [
    "the tokens of queues and types are not spent",
    ["  state.bucketFullAt = spendToken(rule, state.bucketFullAt, now);", ""],
  ],
  [
    "a claim ignores the rule of the queue",
    ["taken.length < limit && !isThrottled(queue.rule, ofQueue)", "taken.length < limit"],
  ],
  ["a claim ignores the rules of types", ["if (isThrottled(type.rules.type, type.state)) continue;", ""]],
  [
    "priority does not count between types",
    ["(b.priority - a.priority || a.dueAt - b.dueAt", "(a.dueAt - b.dueAt"],
  ],
  ["types are claimed one after the other", [" || isBefore(found.head, next.head))", ")"]],
  ["a round ends while a group may have more jobs", ["else putBack(group);", ""]],
  ["groups that come one by one are never deleted", ["for (const type of types) endRound(type);", ""]],
]);

plant("limits.ts", [
  ["a paused queue is announced", ["? (rule.pausedUntil ?? never) : now", "? now : now"]],
  [
    "an explanation ignores the pause",
    [
      "if (!isPausedAt(rule, now)) return byLimits(rule, scope, name);",
      "return byLimits(rule, scope, name);",
    ],
  ],
  [
    "an explanation counts slots of expired leases",
    ["if (holders.length >= limit)", "if (holders.length >= 0)"],
  ],
  [
    "the backlog counts every job of an ordered group",
    ["return head.ofGroup?.isOrdered === true ? 1 : due;", "return due;"],
  ],
]);
