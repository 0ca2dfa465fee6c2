import { planRoutes } from "./actions.ts";
import { compareRoutes } from "./compare.ts";
import { doctorRoutes } from "./doctor.ts";
import { historyRoutes } from "./history.ts";
import { getJob, listJobs } from "./jobs.ts";
import { limitRoutes } from "./limits.ts";
import { getBacklog, getSession } from "./overview.ts";
import { operateRoutes } from "./operate.ts";
import type { Route } from "./route.ts";
import { statisticsRoutes } from "./statistics.ts";
import { treeRoutes } from "./tree.ts";

/** All routes of the API. */
export const routes: readonly Route[] = [
  getSession,
  getBacklog,
  listJobs,
  getJob,
  ...treeRoutes,
  ...operateRoutes,
  ...planRoutes,
  ...limitRoutes,
  ...historyRoutes,
  ...statisticsRoutes,
  ...doctorRoutes,
  ...compareRoutes,
];
