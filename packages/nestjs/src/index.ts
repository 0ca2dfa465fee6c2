export {
  InjectLeasehold,
  JobHandler,
  type JobHandlerProvider,
  type JobHandlerSettings,
  leaseholdToken,
} from "./decorators.ts";
export { LeaseholdModule, leaseholdOptionsToken } from "./leasehold-module.ts";
export { type LeaseholdModuleOptions, LeaseholdWorker, type WorkerDefinition } from "./leasehold-worker.ts";
