// Bugs in groups and rules: slots that leak or come free twice, lines that are forgotten, tokens and turns that do not add up.

/** @type {{ name: string, patches: { file: string, find: string, replace: string }[] }[]} */
export const flowBugs = [];

const plant = (name, ...patches) => {
  flowBugs.push({ name, patches: patches.map(([file, find, replace]) => ({ file, find, replace })) });
};

// In this store a slot is a running row. These bugs make counters of their own out of it, and let them drift.
const freeSlot =
  "record.queueType.queue.running -= 1, record.queueType.counts.running -= 1, record.line.running -= 1";
const keepSlot =
  "record.queueType.queue.running += 1, record.queueType.counts.running += 1, record.line.running += 1";

plant("repeated commit frees its slot twice", [
  "memory/operations/commit-outcomes.js",
  "if (record === undefined || rejection !== undefined)",
  `if (rejection?.kind === "repeated") ${freeSlot};\n    if (record === undefined || rejection !== undefined)`,
]);
plant("outcome of a stale holder frees the slot of its successor", [
  "memory/operations/commit-outcomes.js",
  "if (record === undefined || rejection !== undefined)",
  `if (rejection?.reason === "lease_mismatch") ${freeSlot};\n    if (record === undefined || rejection !== undefined)`,
]);
plant("reaping keeps the slot", [
  "memory/operations/reap-expired-leases.js",
  "store.update(record, reaped(record.row, call, now));",
  `store.update(record, reaped(record.row, call, now));\n        ${keepSlot};`,
]);
plant("cancelling a running job keeps its slot", [
  "memory/operations/cancel-sequences.js",
  "store.update(record, cancelled(record.row, error, now));",
  `store.update(record, cancelled(record.row, error, now));\n    if (wasRunning) ${keepSlot};`,
]);
plant("limit of a group is one too high", [
  "store/rules/limits.js",
  "running >= concurrency",
  "running > concurrency",
]);
plant("type does not keep to the rule of its queue", [
  "memory/take-in-turn.js",
  "if (findThrottleOfRule(rule, { running: index.running, bucketFullAt }, now) !== null)",
  "if (rule?.paused)",
]);
plant("expired lease leaves its slot to nobody", [
  "memory/take-in-turn.js",
  "putBackExpired(store, queueType, search);",
  "",
]);
plant("closed line is not opened when its last running job ends", [
  "memory/runnable-index.js",
  "if (record.row.group !== null)",
  'if (record.row.group !== null && after?.status === "pending")',
]);
plant("line that waits for its time is not opened again", [
  "memory/open-lines.js",
  "if (claimableAt === Number.POSITIVE_INFINITY)",
  "if (true)",
]);
plant("raised limit is not noticed by lines that are closed", [
  "memory/operations/set-flow-rule.js",
  "runnable.reconsider({ queue, typeName });",
  "",
]);
plant("pause of a type is ignored", [
  "store/rules/limits.js",
  'return rule.paused ? "paused" :',
  'return rule.paused && rule.typeName === null ? "paused" :',
]);
plant("retry in an ordered group goes to the back", [
  "memory/line.js",
  "group !== null && ordered !== null && leaseVersion > 0",
  "false",
]);
plant(
  "ordered group does not wait for a retry that is not due",
  [
    "memory/line.js",
    "return begun.at <= now ? begun : undefined;",
    "return begun.at <= now ? begun : line.pending.head(now);",
  ],
  [
    "memory/line.js",
    "if (begun !== undefined)\n        return begun.at;",
    "if (begun !== undefined && begun.at <= now)\n        return begun.at;",
  ],
);
plant("last lease does not stop an ordered group", [
  "memory/operations/reap-expired-leases.js",
  "stopGroup(store, row);",
  ";",
]);
plant("redriving does not lift the stop", ["memory/operations/redrive-jobs.js", "liftStop(store, job);", ""]);
plant("token is not spent", [
  "memory/take-in-turn.js",
  "spendTokens(limits.rate, bucketFullAt, now, 1)",
  "bucketFullAt",
]);
plant("bucket is full after an edit", [
  "memory/operations/set-flow-rule.js",
  "? 0 : keepSpent(after, bucketFullAt, now)",
  "? 0 : 0",
]);
plant("interval between tokens forgets the burst", [
  "store/rules/limits.js",
  "/ (limit - burst + 1));",
  "/ limit);",
]);
plant("line back from idle keeps its old turn", [
  "memory/runnable-index.js",
  "Math.max(cells.line(cell, group).turn, cell?.state.served ?? 0)",
  "cells.line(cell, group).turn",
]);
plant("line in turn is not moved on", [
  "memory/take-in-turn.js",
  "turn: lineTurn + 1 / weightOfGroup(over, line.group)",
  "turn: lineTurn",
]);
plant("rolled back claim keeps its tokens and turns", ["memory/job-store.js", "flow.undo(images.flow);", ""]);
plant("hint does not know when the next token comes", [
  "memory/next-in-line.js",
  "return Math.max(roomAt, tokenAt);",
  "return tokenAt > now ? never : roomAt;",
]);
