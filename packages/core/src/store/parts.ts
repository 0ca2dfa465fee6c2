import type { Jobs, OptionalParts, PartName } from "./contract/state-adapter.ts";
import { StorePartMissingError } from "./errors.ts";

type Part<TPart extends PartName, TTxContext> = NonNullable<OptionalParts<TTxContext>[TPart]>;

/** `lock` keeps rows locked until the transaction ends, and changes none. */
type Effect = "read" | "lock" | "write";

type ContractMethods = { readonly jobs: Readonly<Record<keyof Jobs<object>, Effect>> } & {
  readonly [TPart in PartName]: Readonly<Record<keyof Part<TPart, object>, Effect>>;
};

/**
 * Every method of the contract that is one store call, by part, with its effect. Dispatch, the test wrappers and the
 * simulation read their method names here. The compiler refuses the table if a method is missing.
 */
export const contractMethods: ContractMethods = {
  jobs: {
    getTime: "read",
    createJobs: "write",
    addJobBlockers: "write",
    claimJobs: "write",
    nextRunnableIn: "read",
    renewLeases: "write",
    lockHeldJobs: "lock",
    lockSequence: "lock",
    commitOutcomes: "write",
    reapExpiredLeases: "write",
    cancelSequences: "write",
    redriveJobs: "write",
    deleteSequences: "write",
    pruneSequences: "write",
    getJobs: "read",
    getSequences: "read",
    listJobs: "read",
    getBlockers: "read",
    listBlockedJobs: "read",
    countJobs: "read",
    countAhead: "read",
  },
  recurring: {
    getRecurring: "read",
    listRecurring: "read",
    nextRecurringIn: "read",
    lockRecurring: "lock",
    lockDueRecurring: "lock",
    putRecurring: "write",
    advanceRecurring: "write",
    deleteRecurring: "write",
  },
  edits: { updateWaitingJobs: "write", expireWaitingJobs: "write" },
  limits: {
    setRule: "write",
    listRules: "read",
    listGroups: "read",
    pauseGroup: "write",
    resumeGroup: "write",
    explainThrottle: "read",
    repairCounters: "write",
  },
  history: {
    listAttempts: "read",
    listCauses: "read",
    writeReport: "write",
    listProcesses: "read",
    readBuckets: "read",
    rollUpBuckets: "write",
    deleteOldReports: "write",
  },
  statistics: { measureBacklog: "read", listRecentlyFinished: "read" },
  diagnostics: { runChecks: "read", estimateJobs: "read" },
};

const { jobs: _required, ...optional } = contractMethods;

/** The names of the optional parts of the contract. */
export const partNames: readonly PartName[] = Object.keys(optional) as PartName[];

/** The adapters of this repository that offer each part, for the error about a missing part. */
const offeredBy: Readonly<Record<PartName, readonly string[]>> = {
  recurring: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
  edits: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
  limits: ["PostgreSQL", "SQLite", "in-process"],
  history: ["PostgreSQL", "SQLite", "in-process"],
  statistics: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
  diagnostics: ["PostgreSQL", "SQLite", "MongoDB", "in-process"],
};

/** Returns the part, or throws for an operation that needs it. */
export const requirePart = <TPart extends PartName, TTxContext>(
  adapter: OptionalParts<TTxContext>,
  part: TPart,
  operation: string,
): Part<TPart, TTxContext> => {
  const offered: OptionalParts<TTxContext>[TPart] = adapter[part];
  if (offered === undefined) throw new StorePartMissingError(part, operation, offeredBy[part]);
  return offered;
};
