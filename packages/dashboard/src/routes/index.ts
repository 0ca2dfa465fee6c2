import type { Route } from "../server/route.ts";
import { compareRoutes } from "./compare.ts";
import { doctorRoutes } from "./doctor.ts";
import { flowRoutes } from "./flow.ts";
import { historyRoutes } from "./history.ts";
import { getJob, listJobs } from "./jobs.ts";
import { getBacklog, getSession } from "./overview.ts";
import { planRoutes } from "./plans.ts";
import { statisticsRoutes } from "./statistics.ts";
import { treeRoutes } from "./tree.ts";

/** Everything that can be asked for. */
export const routes: readonly Route[] = [
  getSession,
  getBacklog,
  listJobs,
  getJob,
  ...treeRoutes,
  ...planRoutes,
  ...flowRoutes,
  ...historyRoutes,
  ...statisticsRoutes,
  ...doctorRoutes,
  ...compareRoutes,
];
