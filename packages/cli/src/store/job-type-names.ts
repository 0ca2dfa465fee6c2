import type { LeaseholdConfig } from "../config/config.ts";
import type { AnyLeasehold } from "./store.ts";

type ConfiguredTypes = LeaseholdConfig["jobTypes"];

const definitionsOf = (jobTypes: ConfiguredTypes): ReadonlyMap<string, { readonly workerless?: unknown }> => {
  const definitions: unknown = (jobTypes as { readonly definitions?: unknown } | undefined)?.definitions;
  return definitions instanceof Map ? (definitions as ReturnType<typeof definitionsOf>) : new Map();
};

/** The names that the config module's job types have at run time; none where they exist for the compiler only. */
export const configuredTypeNames = (jobTypes: ConfiguredTypes): readonly string[] => [
  ...definitionsOf(jobTypes).keys(),
];

/** Types that are completed from outside, by a person or another program: no worker implements them. */
export const workerlessTypeNames = (jobTypes: ConfiguredTypes): ReadonlySet<string> =>
  new Set([...definitionsOf(jobTypes)].filter(([, type]) => type.workerless === true).map(([name]) => name));

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
