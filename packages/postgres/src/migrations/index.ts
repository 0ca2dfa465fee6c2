import { jobs } from "./0001-jobs.ts";
import { attempts } from "./0002-attempts.ts";
import { blockedJobs } from "./0003-blocked-jobs.ts";
import { flow } from "./0004-flow.ts";
import { flowIndexes } from "./0005-flow-indexes.ts";
import type { Migration } from "./migration.ts";

export const migrations: readonly Migration[] = [jobs, attempts, blockedJobs, flow, flowIndexes];
