import { leaseholdSystem } from "./leasehold-system.mjs";

export const { install, openProducer, openWorker } = leaseholdSystem({
  defaults: { retention: { completedMs: 0 } },
});
