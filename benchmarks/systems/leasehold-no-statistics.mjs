import { leaseholdSystem } from "./leasehold-system.mjs";

export const { install, openProducer, openWorker, prefill } = leaseholdSystem({ statistics: false });
