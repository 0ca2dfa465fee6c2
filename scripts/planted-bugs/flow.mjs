// Bugs in groups and rules: slots that leak or come free twice, lines that are forgotten, tokens and turns that do not add up.

/** @type {{ name: string, patches: { file: string, find: string, replace: string }[] }[]} */
export const flowBugs = [];

const plant = (name, ...patches) => {
  flowBugs.push({ name, patches: patches.map(([file, find, replace]) => ({ file, find, replace })) });
};

// In this store a slot is an entry in the list of running jobs. These bugs lose one, or leave one behind.
const freeSlot = "record.place?.leased.delete(record), record.place?.type.leased.delete(record)";
const freeSlotOfAnother =
  "for (const each of rows.leases) if (each.row.queue === record.row.queue) each.place.leased.delete(each), each.place.type.leased.delete(each)";

plant("repeated commit frees its slot twice", [
  "memory/outcomes.js",
  "if (record === undefined || rejection !== undefined)",
  `if (rejection?.kind === "repeated") ${freeSlotOfAnother};\n    if (record === undefined || rejection !== undefined)`,
]);
plant("outcome of a stale holder frees the slot of its successor", [
  "memory/outcomes.js",
  "if (record === undefined || rejection !== undefined)",
  `if (rejection?.reason === "lease_mismatch") ${freeSlot};\n    if (record === undefined || rejection !== undefined)`,
]);
plant("reaping keeps the slot", [
  "memory/leases.js",
  "update(rows, record, reaped(record.row, call, now));",
  "const ghost = { ...record };\n        update(rows, record, reaped(record.row, call, now));\n        ghost.place.leased.add(ghost);",
]);
plant("cancelling a running job keeps its slot", [
  "memory/outcomes.js",
  "update(rows, record, cancelled(record.row, error, now));",
  "const ghost = { ...record };\n    update(rows, record, cancelled(record.row, error, now));\n    if (wasRunning) ghost.place.leased.add(ghost);",
]);
plant("limit of a group is one too high", [
  "store/rules/limits.js",
  "running >= concurrency",
  "running > concurrency",
]);
plant("type does not keep to the rule of its queue", [
  "store/rules/turns.js",
  "while (taken.length < limit && !isThrottled(queue.rule, ofQueue))",
  "while (taken.length < limit)",
]);
plant("expired lease keeps its slot from every job", [
  "memory/limits.js",
  "requeueExpired(rows, type, call, now);",
  ";",
]);
plant("group keeps the slot of a job that has ended", [
  "memory/groups.js",
  "place.leased.delete(record);\n        place.type.leased.delete(record);",
  "place.type.leased.delete(record);",
]);
plant("group that waits for a token is not claimable again", [
  "memory/limits.js",
  "group.isResting = isThrottled ||",
  "group.isResting = (wasResting && bucketFullAt > 0) || isThrottled ||",
]);
plant("raised limit of groups has no effect", [
  "memory/limit-rules.js",
  "assign(rows.journal, scope, { rule, bucketFullAt: edited });",
  "assign(rows.journal, scope, { rule: { ...rule, perGroup: before.perGroup ?? rule.perGroup }, bucketFullAt: edited });",
]);
plant("limit of groups that is not named is removed", [
  "store/rules/limits.js",
  "const after = changedLimits(before ?? noLimits, change ?? noLimits);",
  "const after = changedLimits(noLimits, change ?? noLimits);",
]);
plant("weights that are not named are removed", [
  "store/rules/limits.js",
  "...Object.entries(before), ...Object.entries(change)",
  "...Object.entries(change)",
]);
plant("pause with an end never ends", [
  "store/rules/pauses.js",
  "paused && (pausedUntil === null || pausedUntil > now)",
  "paused",
]);
plant(
  "pause of a group is ignored",
  ["memory/limits.js", "const isPaused = (group.pausedUntil ?? 0) > now;", "const isPaused = false;"],
  [
    "store/rules/turns.js",
    "if (stoppedBy === null && pausedUntil !== null && pausedUntil > now)",
    "if (false)",
  ],
);
plant("pause of a type is ignored", [
  "store/rules/limits.js",
  'return isPausedAt(rule, now) ? "paused"',
  'return isPausedAt(rule, now) && rule.typeName === null ? "paused"',
]);
plant("retry in an ordered group goes to the back", [
  "memory/groups.js",
  "group !== null && ordered !== null && leaseVersion > 0",
  "false",
]);
plant(
  "ordered group does not wait for a retry that is not due",
  ["memory/groups.js", "claimableAt(record) <= now || goesFirst(record.row);", "claimableAt(record) <= now;"],
  [
    "memory/groups.js",
    "record = isDue ? list.after(record)",
    "record = isDue || goesFirst(record.row) ? list.after(record)",
  ],
  [
    "memory/groups.js",
    "record = goesFirst(record.row) ? undefined",
    "record = goesFirst(record.row) ? list.after(record)",
  ],
);
plant("last lease does not stop an ordered group", ["memory/leases.js", "stopGroup(rows, row);", ";"]);
plant("redriving does not lift the stop", ["memory/outcomes.js", "resume(rows, job, job.id);", ""]);
plant("redriving any failed job of a group lifts the stop", [
  "memory/groups.js",
  "if (!isStopped || (stoppedBy ?? place.stoppedBy) !== place.stoppedBy)",
  "if (!isStopped)",
]);
plant("token is not spent", [
  "store/rules/turns.js",
  "spendTokens(rate, bucketFullAt, now, 1)",
  "bucketFullAt",
]);
plant("bucket is full after an edit", [
  "memory/limit-rules.js",
  "? 0 : keepSpent(after, bucketFullAt, now)",
  "? 0 : 0",
]);
plant("interval between tokens forgets what the bucket holds", [
  "store/rules/limits.js",
  "limit - bucketSize(rate) + 1",
  "limit",
]);
plant("burst lowers the sustained rate", [
  "store/rules/limits.js",
  "burst === null ? limit - bucketSize(rate) + 1 : limit",
  "limit - bucketSize(rate) + 1",
]);
plant("group back from idle keeps its old virtual time", [
  "memory/limits.js",
  "if (!group.isResting && wasResting && isBehind)",
  "if (false)",
]);
plant("group in turn is not moved on", [
  "store/rules/turns.js",
  "group.virtualTime += 1 / group.weight;",
  "",
]);
plant("rolled back claim keeps its tokens and turns", [
  "memory/groups.js",
  "remember(journal, () => assign(journal, target, before));",
  'if (!("bucketFullAt" in change)) remember(journal, () => assign(journal, target, before));',
]);
plant("hint ignores when the next token comes", [
  "store/rules/limits.js",
  "return Math.max(roomAt, hasToken ? now : nextTokenAt(rate, bucketFullAt, now));",
  "return hasToken ? roomAt : Infinity;",
]);
