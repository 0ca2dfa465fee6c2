import type { Edits } from "./edits.ts";
import type { Limits } from "./limits.ts";
import type { Recurring } from "./recurring.ts";

export type { Recurring } from "./recurring.ts";

export type { Limits } from "./limits.ts";

export type { Edits } from "./edits.ts";

/**
 * The optional part for what decides when jobs come into being and when they may run, beyond a single start, and what
 * becomes of jobs that wait.
 */
export interface Flow<TTxContext> extends Limits<TTxContext>, Recurring<TTxContext>, Edits<TTxContext> {}
