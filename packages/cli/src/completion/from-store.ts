import { setTimeout as sleep } from "node:timers/promises";
import type { CommandContext } from "../command-context.ts";
import type { GlobalOptions } from "../global-options.ts";
import type { FoundConfig } from "../config/find-config.ts";
import { formatMoment } from "../output/amounts.ts";
import { oneLine } from "../output/printable.ts";
import { configuredTypeNames, recentNames } from "../store/job-type-names.ts";
import type { AnyLeasehold, OpenedStore } from "../store/store.ts";
import type { Candidate, Wanted } from "./complete.ts";

// Somebody waits with a finger on the key.
const patienceMs = 1_500;
const mostIds = 50;
const idSample = 500;

const idCandidates = async (
  leasehold: AnyLeasehold,
  { status }: Extract<Wanted, { kind: "id" }>,
  start: string,
): Promise<Candidate[]> => {
  const { jobs } = await leasehold.listJobs({ status, limit: start === "" ? mostIds : idSample });
  const now = Date.now();
  return jobs
    .filter(({ id }) => id.startsWith(start))
    .slice(0, mostIds)
    .map((job) => ({
      value: job.id,
      description: oneLine(`${job.typeName}, ${job.status}, ${formatMoment(job.createdAt, now)}`),
    }));
};

const look = async (
  { leasehold }: OpenedStore,
  found: FoundConfig | undefined,
  wanted: Wanted,
  start: string,
): Promise<Candidate[]> => {
  if (wanted.kind === "id") return idCandidates(leasehold, wanted, start);
  const { queues, typeNames } = await recentNames(leasehold);
  const names =
    wanted.kind === "queue" ? queues : [...configuredTypeNames(found?.config.jobTypes), ...typeNames];
  return [...new Set(names)].map((value) => ({ value, description: "" }));
};

/** Values that the store knows: a few of the newest, soon or not at all, and never an error. */
export const candidatesFromStore = async (
  context: CommandContext,
  options: Partial<GlobalOptions>,
  wanted: Wanted,
  start: string,
): Promise<readonly Candidate[]> => {
  const looking = context.withStore({ options }, (store, found) => look(store, found, wanted, start));
  const found = await Promise.race([
    looking.catch((): Candidate[] => []),
    sleep(patienceMs, [] as Candidate[], { ref: false }),
  ]);
  // A shell would take others apart.
  return found.filter(({ value }) => value.startsWith(start) && /^[^\s'"\\$`\p{C}]+$/u.test(value));
};
