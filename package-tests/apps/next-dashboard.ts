// The module of a Next.js application that creates its dashboard.
import { createDashboard } from "@leasehold/dashboard";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

const jobTypes = defineUnionJobTypes<{ greet: { input: { name: string }; output: string } }>();

const stateAdapter = await createSqliteStateAdapter({ file: ":memory:" });
const leasehold = await createLeasehold({ stateAdapter, jobTypes });
await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });

export const dashboard = createDashboard({
  leasehold,
  stateAdapter,
  basePath: "/ops/jobs",
  authorize: () => ({ user: "ada", can: ["read", "payloads", "cancel"] }),
});
