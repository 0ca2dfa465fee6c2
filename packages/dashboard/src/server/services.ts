import type { LeaseholdApi } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import type { Doctor } from "../doctor/doctor.ts";
import type { ActionRunner } from "../plans/action-runner.ts";
import type { FindBehindSince } from "../situation/behind-since.ts";
import type { ActionLog } from "./action-log.ts";
import type { Redactor } from "./redact.ts";

/** The page does not know an application's job types: any name goes, and payloads are whatever they are. */
export type AnyDefinitions = Record<string, { input: unknown; output: unknown }>;
export type AnyLeasehold = LeaseholdApi<AnyDefinitions, object, string>;

/** What the routes work with. */
export interface Services {
  readonly leasehold: AnyLeasehold;
  readonly stateAdapter: AnyStateAdapter;
  readonly redact: Redactor;
  readonly actions: ActionLog;
  readonly runner: ActionRunner;
  readonly doctor: Doctor;
  readonly findBehindSince: FindBehindSince;
  readonly environment: Environment | null;
  readonly traceUrl: ((job: { readonly id: string }) => string | undefined) | undefined;
  /** The store's clock, in milliseconds. */
  now(): Promise<number>;
}

/** Which installation this is, so that nobody takes it for another. */
export interface Environment {
  readonly label: string;
  readonly tone: "neutral" | "warning" | "danger";
}
