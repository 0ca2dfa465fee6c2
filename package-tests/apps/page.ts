// Prints how the dashboard answers for its page, which must be inside a bundle.
import { createDashboard } from "@leasehold/dashboard";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const stateAdapter = createInProcessStateAdapter();
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<object>() });
const dashboard = createDashboard({ leasehold, stateAdapter, authorize: () => true });
const { status, headers } = await dashboard.fetch(new Request("http://localhost/"));
console.log(status, headers.get("content-type"));
await dashboard.close();
await leasehold.close();
