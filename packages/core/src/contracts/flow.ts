import type { FlowRules } from "./flow/rules.ts";

export type * from "./flow/rules.ts";

/** How jobs flow: when they run, beside which others, and what becomes of those that wait. */
export type Flow<TTxContext> = FlowRules<TTxContext>;
