import type { Codec, JobTypes, Log, NotifyAdapter, WorkerBuilder } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";

/** Adapters of your own, for stores and settings that an address cannot express. */
export interface StoreAdapters {
  readonly stateAdapter: AnyStateAdapter;
  readonly notifyAdapter?: NotifyAdapter | undefined;
  /** Called once at the end, after the adapters were closed: end pools here. */
  readonly close?: (() => Promise<void> | void) | undefined;
}

/** One of several stores, which `--store` chooses by its name. */
export interface NamedStore extends Pick<
  LeaseholdConfig,
  "store" | "schema" | "tablePrefix" | "channelPrefix"
> {
  readonly store: NonNullable<LeaseholdConfig["store"]>;
  /** The colour of its name in the dashboard. Default: neutral. */
  readonly tone?: "neutral" | "warning" | "danger" | undefined;
}

/** What `leasehold.config.ts` exports as its default. */
export interface LeaseholdConfig {
  /** `sqlite:./jobs.db` (from the folder of the config module), `postgres://…`, `mongodb://…`, or a function that makes adapters. */
  readonly store?: string | (() => StoreAdapters | Promise<StoreAdapters>) | undefined;
  /** Several stores by name, such as `production`. `--store` takes these names; `leasehold dashboard` shows all of them. */
  readonly stores?: Readonly<Record<string, NamedStore>> | undefined;
  /** The PostgreSQL schema. Default: `leasehold`. */
  readonly schema?: string | undefined;
  /** The prefix of SQLite tables and MongoDB collections. Default: `leasehold_`. */
  readonly tablePrefix?: string | undefined;
  /** The prefix of PostgreSQL channels for notifications. Default: `leasehold`. */
  readonly channelPrefix?: string | undefined;
  /** With these, `leasehold start` checks names and inputs, and takes queue, priority and so on from the type. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the job types of whatever application
  readonly jobTypes?: JobTypes<any> | undefined;
  /** If your application has one: payloads cannot be read without it. */
  readonly codec?: Codec | undefined;
  /** The module of `leasehold worker run`, when none is named. From the folder of the config module. */
  readonly worker?: string | undefined;
}

/** Gives a config module its type; returns what it gets. */
export const defineConfig = (config: LeaseholdConfig): LeaseholdConfig => config;

/** What `leasehold worker run` hands to a worker module: the store it was started with. */
export interface WorkerContext {
  // oxlint-disable-next-line typescript/no-redundant-type-constituents -- of whatever context type
  readonly stateAdapter: AnyStateAdapter;
  readonly notifyAdapter: NotifyAdapter | undefined;
  /** Prints in the manner of the command. */
  readonly log: Log;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the worker of whatever application
type AnyWorkerBuilder = Pick<WorkerBuilder<any, any, any>, "start">;

/**
 * Gives a worker module its type:
 *
 *     export default defineWorker(async (context) => {
 *       const leasehold = await createLeasehold({ ...context, jobTypes });
 *       return leasehold.createWorker().implementJobType({ … });
 *     });
 */
export const defineWorker = (
  build: (context: WorkerContext) => AnyWorkerBuilder | Promise<AnyWorkerBuilder>,
): typeof build => build;
