import { Inject } from "@nestjs/common";
import { type DiscoverableDecorator, DiscoveryService } from "@nestjs/core";
import type { RetryPolicy } from "leasehold";

/** The token of the Leasehold. */
export const leaseholdToken = "LEASEHOLD";

/** Injects the Leasehold: `constructor(@InjectLeasehold() private readonly leasehold: AppLeasehold) {}`. */
export const InjectLeasehold = (): PropertyDecorator & ParameterDecorator => Inject(leaseholdToken);

/** As in `implementJobType`. */
export interface JobHandlerSettings {
  /** When a failed attempt is tried again. Overrides the policy of the job type. */
  readonly retry?: RetryPolicy | undefined;
  /** How often a job may run in all. Overrides the job type. */
  readonly maxAttempts?: number | undefined;
  /** How long one attempt may take. */
  readonly timeoutMs?: number | undefined;
}

/** What a class with `@JobHandler` has to have. */
export interface JobHandlerProvider {
  /** Runs one attempt of a job. */
  process(options: never): Promise<unknown>;
}

/** What the module finds on a class with `@JobHandler`. */
export const HandledType: DiscoverableDecorator<JobHandlerSettings & { readonly typeName: string }> =
  DiscoveryService.createDecorator();

/** Makes a provider the handler of a job type: the worker calls its `process` for each attempt. */
export const JobHandler =
  (
    typeName: string,
    settings: JobHandlerSettings = {},
  ): ((target: new (...dependencies: never[]) => JobHandlerProvider) => void) =>
  (target) => {
    HandledType({ ...settings, typeName })(target);
  };
