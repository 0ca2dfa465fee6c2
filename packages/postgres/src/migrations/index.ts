import { jobs } from "./0001-jobs.ts";
import type { Migration } from "./migration.ts";

export const migrations: readonly Migration[] = [jobs];
