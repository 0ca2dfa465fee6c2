export {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type OperatedLeasehold,
} from "./create-dashboard.ts";

export { toNodeListener } from "./node-listener.ts";

export {
  isLoopback,
  type StandaloneDashboard,
  type StandaloneOptions,
  type StandaloneStore,
  startDashboard,
} from "./standalone/start.ts";

export { type DashboardUser, parseTokenFile } from "./standalone/users.ts";

export type { RedactionPlace, RedactRule } from "./http/rights.ts";

export type { Authorization, Authorize, Right } from "./http/rights.ts";

export type { Environment } from "./routes/route.ts";
