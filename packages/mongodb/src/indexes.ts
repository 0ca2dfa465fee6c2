import type { IndexDescription } from "mongodb";

/** All indexes of the collection of jobs. */
export const jobIndexes: readonly IndexDescription[] = [
  {
    name: "claim",
    key: { queue: 1, typeName: 1, priority: -1, dueAt: 1, position: 1 },
    partialFilterExpression: { live: true },
  },
  { name: "next", key: { queue: 1, typeName: 1, dueAt: 1 }, partialFilterExpression: { live: true } },
  { name: "expired", key: { dueAt: 1 }, partialFilterExpression: { status: "running" } },
  { name: "held", key: { leaseToken: 1 }, partialFilterExpression: { status: "running" } },
  { name: "sequence", key: { sequenceId: 1, sequenceIndex: 1 }, unique: true },
  { name: "tree", key: { rootSequenceId: 1, createdAt: 1, _id: 1 } },
  { name: "created", key: { createdAt: 1, _id: 1 } },
  { name: "status", key: { status: 1, createdAt: 1, _id: 1 } },
  { name: "blockers", key: { blockerIds: 1 }, partialFilterExpression: { blockerCount: { $gt: 0 } } },
  {
    name: "key",
    key: { sequenceTypeName: 1, deduplicationKey: 1, createdAt: -1, position: -1 },
    partialFilterExpression: { deduplicationKey: { $type: "string" } },
  },
  { name: "roots", key: { _id: 1, isRoot: 1 }, partialFilterExpression: { isRoot: true } },
  { name: "blocked", key: { queue: 1, typeName: 1 }, partialFilterExpression: { status: "blocked" } },
];
