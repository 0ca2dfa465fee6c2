export { startMongoTestServer } from "./create-server.ts";
export type { MongoTestServer, MongoTestServerOptions } from "./create-server.ts";
export type { Fault, FaultRule, Faults, ObservedCommand } from "./faults/faults.ts";
export type { ObservedPlan } from "./server-state.ts";
