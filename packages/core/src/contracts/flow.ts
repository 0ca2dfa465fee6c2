import type { RecurringJobs } from "./flow/recurring-jobs.ts";

/** The optional part for what decides when jobs come into being and when they may run, beyond a single start. */
export interface Flow<TTxContext> extends RecurringJobs<TTxContext> {}
