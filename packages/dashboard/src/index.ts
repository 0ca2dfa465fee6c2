export {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type OperatedLeasehold,
} from "./create-dashboard.ts";

export { toNodeListener } from "./node-listener.ts";

export { type StandaloneDashboard, type StandaloneOptions, startDashboard } from "./standalone.ts";

export type { RedactionPlace, RedactRule } from "./http/rights.ts";

export type { Authorization, Authorize, Right } from "./http/rights.ts";

export type { Environment } from "./routes/route.ts";
