import { type AnyJob, JobNotFoundError } from "leasehold";
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

const shortForm = /^(\S{4,}?)(?:…|\.\.\.?)(\S{4,})$/;
// The first eight digits of a UUID of version 7 are its time without the last 16 bits.
const timeStep = 2 ** 16;
// Ids contain the time of the starting process, jobs have the store's time.
const clockToleranceMs = 600_000;

const pageSize = 1_000;

const mostPages = 20;

type Filter = Parameters<AnyLeasehold["jobs"]["list"]>[0];

const windowOf = (head: string): Filter => {
  if (!/^[0-9a-f]{8}/i.test(head)) return {};
  const from = Number.parseInt(head.slice(0, 8), 16) * timeStep;
  return {
    createdFrom: new Date(from - clockToleranceMs),
    createdBefore: new Date(from + timeStep + clockToleranceMs),
  };
};

const refuseShort = (id: string, problem: string): never => {
  throw new CliError("AmbiguousId", `${id} ${problem}.`, {
    exitCode: exitCodes.notFound,
    hint: "Give the whole id: `leasehold list --json` has it, and so has a wider terminal.",
  });
};

/**
 * By the beginning and end of its id, as narrow terminals show it, among the jobs of the time that the id contains.
 */
const findByEnds = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob | undefined> => {
  const [, head = "", tail = ""] = shortForm.exec(id) ?? [];
  if (head === "") return undefined;
  const matches: AnyJob[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const listing: Awaited<ReturnType<AnyLeasehold["jobs"]["list"]>> = await leasehold.jobs.list({
      ...windowOf(head),
      limit: pageSize,
      cursor,
    });
    matches.push(...listing.jobs.filter((job) => job.id.startsWith(head) && job.id.endsWith(tail)));
    cursor = listing.cursor;
    if (cursor === null) break;
  }
  if (matches.length > 1) return refuseShort(id, "is the short form of several ids");
  if (matches.length === 0 && cursor !== null) {
    return refuseShort(id, `is not among ${pageSize * mostPages} jobs of that time`);
  }
  return matches[0];
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
  shortForm.test(id) ? ((await findJob(leasehold, id))?.id ?? id) : id;

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
