import type { Attempts, Causes, Reports } from "./history.ts";

export type { Attempts } from "./history.ts";

export type { Causes } from "./history.ts";

export type { Reports } from "./history.ts";

/**
 * The optional part for what has happened: attempts that failed, what jobs fail from, and how much each process did.
 * Jobs run the same without it.
 */
export interface History<TTxContext> extends Attempts<TTxContext>, Causes<TTxContext>, Reports<TTxContext> {}
