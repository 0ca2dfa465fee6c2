import {
  type Codec,
  createLeasehold,
  defineUnionJobTypes,
  type JobTypes,
  type LeaseholdApi,
  type NotifyAdapter,
} from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";

/** The command does not know an application's job types: any name goes, and payloads are whatever they are. */
export type AnyDefinitions = Record<string, { input: unknown; output: unknown }>;

export type AnyLeasehold = LeaseholdApi<AnyDefinitions, object, string>;

/** Which migrations the tables have, and which are still to be applied. */
export interface MigrationStatus {
  readonly applied: readonly { readonly version: number; readonly name: string }[];
  readonly pending: readonly { readonly version: number; readonly name: string; readonly sql: string }[];
}

export interface Migrations {
  status(): Promise<MigrationStatus>;
  migrate(): Promise<unknown>;
}

export interface OpenedStore {
  /** For people, without passwords. */
  readonly label: string;
  readonly stateAdapter: AnyStateAdapter;
  readonly notifyAdapter: NotifyAdapter | undefined;
  readonly leasehold: AnyLeasehold;
  /** Absent where the adapter has none to offer. */
  readonly migrations: Migrations | undefined;
  /** How long the store may take to answer one call. */
  readonly storeDeadlineMs: number;
  close(): Promise<void>;
}

/** What a particular kind of store contributes; `finishStore` adds the rest. */
export type StoreConnection = Omit<OpenedStore, "leasehold" | "storeDeadlineMs">;

export interface OpenStoreOptions {
  /** Notify idle workers of new jobs at once. Commands that only read need not. */
  readonly notifies: boolean;
  /** `migrate` alone may make a database that is not there. */
  readonly create: boolean;
  /** The size of a pool of connections; the client's default when absent. */
  readonly connections: number | undefined;
  readonly storeDeadlineMs: number;
}

/** The same, for a store whose package is loaded by its address. */
export interface OpenAddressOptions extends OpenStoreOptions {
  /** The folder of the project that may have the package. */
  readonly project: string;
}

export interface FacadeOptions {
  // oxlint-disable-next-line typescript/no-explicit-any -- the job types of whatever application
  readonly jobTypes?: JobTypes<any> | undefined;
  readonly codec?: Codec | undefined;
  readonly storeDeadlineMs: number;
}

/** Types alone, and so open: at run time every name is allowed. */
const anyJobTypes = defineUnionJobTypes<AnyDefinitions>();

export const finishStore = async (
  opened: StoreConnection,
  { jobTypes, codec, storeDeadlineMs }: FacadeOptions,
): Promise<OpenedStore> => {
  const leasehold = await createLeasehold({
    stateAdapter: opened.stateAdapter,
    notifyAdapter: opened.notifyAdapter,
    jobTypes: (jobTypes ?? anyJobTypes) as JobTypes<AnyDefinitions>,
    codec,
    storeDeadlineMs,
  });
  return {
    ...opened,
    leasehold,
    storeDeadlineMs,
    close: async () => {
      await leasehold.close();
      await opened.close();
    },
  };
};

/** The adapters of the packages have these beyond the contract; those of others may. */
export const migrationsOf = (adapter: object): Migrations | undefined => {
  const { migrate, migrationStatus } = adapter as {
    readonly migrate?: () => Promise<unknown>;
    readonly migrationStatus?: () => Promise<MigrationStatus>;
  };
  if (typeof migrate !== "function" || typeof migrationStatus !== "function") return undefined;
  return { migrate: () => migrate(), status: () => migrationStatus() };
};
