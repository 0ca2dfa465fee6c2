import type { LeaseholdConfig } from "../config/config.ts";
import type { AnyLeasehold } from "./store.ts";

/** The names that the config module's job types have at run time; none where they exist for the compiler only. */
export const configuredTypeNames = (jobTypes: LeaseholdConfig["jobTypes"]): readonly string[] => {
  const definitions: unknown = (jobTypes as { readonly definitions?: unknown } | undefined)?.definitions;
  return definitions instanceof Map ? [...(definitions as Map<string, unknown>).keys()] : [];
};

const sample = 500;

/** The queues and types of the newest jobs: reading all would be work for a store with millions. */
export const recentNames = async (
  leasehold: AnyLeasehold,
): Promise<{ readonly queues: readonly string[]; readonly typeNames: readonly string[] }> => {
  const { jobs } = await leasehold.listJobs({ limit: sample });
  return {
    queues: [...new Set(jobs.map(({ queue }) => queue))].sort(),
    typeNames: [...new Set(jobs.map(({ typeName }) => typeName))].sort(),
  };
};
