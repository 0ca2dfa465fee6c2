import type { LeaseholdApi } from "leasehold";

/** The dashboard works with any job types, so names are strings and payloads unknown. */
export type AnyDefinitions = Record<string, { input: unknown; output: unknown }>;

export type AnyLeasehold = LeaseholdApi<AnyDefinitions, object, string>;

/** What JSON makes of a value: dates become text. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer TItem)[]
    ? readonly Json<TItem>[]
    : T extends object
      ? { readonly [TKey in keyof T]: Json<T[TKey]> }
      : T;

/** The same with dates as text. */
export const toJson = <T extends object>(value: T): Json<T> => JSON.parse(JSON.stringify(value)) as Json<T>;
