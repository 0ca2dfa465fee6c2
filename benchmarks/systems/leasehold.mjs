import { leaseholdSystem } from "./leasehold-system.mjs";

export const { install, openProducer, openWorker, putRecurring, readTicks, prefill } = leaseholdSystem({});
