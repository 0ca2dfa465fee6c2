export {
  createDashboard,
  type Dashboard,
  type DashboardOptions,
  type OperatedLeasehold,
} from "./create-dashboard.ts";
export { toNodeListener } from "./node-listener.ts";
export { type StandaloneDashboard, type StandaloneOptions, startDashboard } from "./standalone.ts";
export type { RedactionPlace, RedactRule } from "./server/redact.ts";
export type { Authorization, Authorize, Right } from "./server/rights.ts";
export type { Environment } from "./server/services.ts";
