// Run by `leasehold worker run worker.js`, which brings the store, prints what happens, and stops gracefully.
import { createLeasehold, defineUnionJobTypes } from "leasehold";

export default async (context) => {
  const leasehold = await createLeasehold({ ...context, jobTypes: defineUnionJobTypes() });
  return leasehold.createWorker().implementJobType({
    typeName: "greet",
    process: async ({ job }) => `Hello, ${job.input.name}!`,
  });
};
