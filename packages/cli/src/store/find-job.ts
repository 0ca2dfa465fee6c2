import { type AnyJob, findByShortId, isShortId, JobNotFoundError } from "leasehold";
import type { LeaseholdConfig } from "../config/config.ts";
import { CliError, exitCodes } from "../output/exit-codes.ts";
import type { AnyLeasehold } from "./store.ts";

// PostgreSQL's for text that does not fit a column's type, such as a word where ids are UUIDs.
const notOfThatType = "22P02";

const getJob = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob | undefined> => {
  try {
    return await leasehold.jobs.get({ id });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === notOfThatType) return undefined;
    throw error;
  }
};

/** By its short id, as narrow terminals and the dashboard show it. */
const findByEnds = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob | undefined> => {
  const [job, other] = await findByShortId(leasehold, id);
  if (other === undefined) return job;
  throw new CliError("AmbiguousId", `${id} is the short form of several ids.`, {
    exitCode: exitCodes.notFound,
    hint: "Give the whole id: `leasehold list --json` has it, and so has a wider terminal.",
  });
};

/** A job by its id, whole or shortened; undefined when there is none, or could not be one of that id. */
export const findJob = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob | undefined> =>
  (await getJob(leasehold, id)) ?? (await findByEnds(leasehold, id));

/** The same for one that must be there. */
export const requireJob = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob> => {
  const job = await findJob(leasehold, id);
  if (job === undefined) throw new JobNotFoundError(id);
  return job;
};

export const findJobs = async (
  leasehold: AnyLeasehold,
  ids: readonly string[],
): Promise<{ readonly jobs: AnyJob[]; readonly missing: string[] }> => {
  const found = await Promise.all(ids.map((id) => findJob(leasehold, id)));
  return {
    jobs: found.filter((job) => job !== undefined),
    missing: ids.filter((_id, index) => found[index] === undefined),
  };
};

/** The whole id, where a shortened one was given. */
export const wholeId = async (leasehold: AnyLeasehold, id: string): Promise<string> =>
  isShortId(id) ? ((await findJob(leasehold, id))?.id ?? id) : id;

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
  const { jobs } = await leasehold.jobs.list({ limit: sample });
  return {
    queues: [...new Set(jobs.map(({ queue }) => queue))].sort(),
    typeNames: [...new Set(jobs.map(({ typeName }) => typeName))].sort(),
  };
};
