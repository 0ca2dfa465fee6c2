import type { LeaseholdApi } from "leasehold";

/** The page does not know an application's job types: any name goes, and payloads are whatever they are. */
export type AnyDefinitions = Record<string, { input: unknown; output: unknown }>;

export type AnyLeasehold = LeaseholdApi<AnyDefinitions, object, string>;
