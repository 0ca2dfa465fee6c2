import type { Actions } from "./history/actions.ts";
import type { Attempts } from "./history/attempts.ts";
import type { Causes } from "./history/causes.ts";
import type { Reports } from "./history/reports.ts";

export type * from "./history/actions.ts";
export type * from "./history/attempts.ts";
export type * from "./history/causes.ts";
export type * from "./history/reports.ts";

/**
 * The optional part for what has happened: attempts that failed, what jobs fail from, how much each process did, and what
 * people did to jobs. Without it jobs run the same, and nobody can look back.
 */
export interface History<TTxContext>
  extends Attempts<TTxContext>, Causes<TTxContext>, Reports<TTxContext>, Actions<TTxContext> {}
