import type { Codec, JobTypes, NotifyAdapter } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";

/** Adapters of your own, for stores and settings that an address cannot express. */
export interface StoreAdapters {
  readonly stateAdapter: AnyStateAdapter;
  readonly notifyAdapter?: NotifyAdapter | undefined;
  /** Called once at the end, after the adapters were closed: end pools here. */
  readonly close?: (() => Promise<void> | void) | undefined;
}

/** What `leasehold.config.ts` exports as its default. */
export interface LeaseholdConfig {
  /** `sqlite:./jobs.db` (from the folder of the config module), `postgres://…`, `mongodb://…`, or a function that makes adapters. */
  readonly store?: string | (() => StoreAdapters | Promise<StoreAdapters>) | undefined;
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
