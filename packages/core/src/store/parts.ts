import type { OptionalParts, PartName } from "./contract/state-adapter.ts";
import { StorePartMissingError } from "./errors.ts";

type Part<TPart extends PartName, TTxContext> = NonNullable<OptionalParts<TTxContext>[TPart]>;

/** The methods of each part. Every one is a single store call. */
export const partMethods: {
  readonly [TPart in PartName]: Readonly<Record<keyof Part<TPart, object>, true>>;
} = {
  statistics: { measureBacklog: true, listRecentlyFinished: true },
  flow: {
    enableFlow: true,
    setFlowRule: true,
    listRules: true,
    listGroups: true,
    resumeGroup: true,
    explainThrottle: true,
    repairCounters: true,
    getRecurring: true,
    listRecurring: true,
    nextRecurringIn: true,
    lockRecurring: true,
    lockDueRecurring: true,
    putRecurring: true,
    advanceRecurring: true,
    deleteRecurring: true,
    updateWaitingJobs: true,
    expireWaitingJobs: true,
  },
  history: {
    listAttempts: true,
    listCauses: true,
    report: true,
    listProcesses: true,
    readBuckets: true,
    rollUpBuckets: true,
    deleteOldReports: true,
  },
  diagnostics: { examine: true, estimateJobs: true },
};

export const partNames: readonly PartName[] = Object.keys(partMethods) as PartName[];

/** The adapters of this repository that offer each part, for those who find it missing. */
const offeredBy: Readonly<Record<PartName, readonly string[]>> = {
  statistics: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
  flow: ["PostgreSQL", "SQLite", "in-process"],
  history: ["PostgreSQL", "SQLite", "in-process"],
  diagnostics: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
};

/** The part, for an operation that cannot do without it. */
export const requirePart = <TPart extends PartName, TTxContext>(
  adapter: OptionalParts<TTxContext>,
  part: TPart,
  operation: string,
): Part<TPart, TTxContext> => {
  const offered: OptionalParts<TTxContext>[TPart] = adapter[part];
  if (offered === undefined) throw new StorePartMissingError(part, operation, offeredBy[part]);
  return offered;
};
