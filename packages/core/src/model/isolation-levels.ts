/** All levels; also what a store can be asked for that runs one transaction after the other. */
export const isolationLevels = ["read committed", "repeatable read", "serializable"] as const;

export type IsolationLevel = (typeof isolationLevels)[number];
