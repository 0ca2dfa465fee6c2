import type { Actions } from "./actions.ts";
import type { Attempts, Causes, Reports } from "./history.ts";

export type { Attempts } from "./history.ts";

export type { Causes } from "./history.ts";

export type { Reports } from "./history.ts";

/**
 * The optional part for what has happened: attempts that failed, what jobs fail from, how much each process did, and what
 * people did to jobs. Without it jobs run the same, and nobody can look back.
 */
export interface History<TTxContext>
  extends Attempts<TTxContext>, Causes<TTxContext>, Reports<TTxContext>, Actions<TTxContext> {}
