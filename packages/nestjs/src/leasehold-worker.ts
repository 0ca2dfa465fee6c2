import type { OnApplicationBootstrap, OnApplicationShutdown } from "@nestjs/common";
import type { DiscoveryService } from "@nestjs/core";
import {
  InvalidOptionError,
  type RunningWorker,
  type RunUntilIdleOptions,
  type RunUntilIdleResult,
  type WorkerStartOptions,
} from "leasehold";
import { type OptionNames, requireOptions } from "leasehold/adapter";
import { HandledType, type JobHandlerProvider } from "./decorators.ts";

/** As much of a worker's definition as the module needs; its types are checked where handlers are written. */
export interface WorkerDefinition {
  implementJobType(options: never): WorkerDefinition;
  start(options?: WorkerStartOptions): Promise<RunningWorker>;
  runUntilIdle(options: RunUntilIdleOptions): Promise<RunUntilIdleResult>;
}

/** The argument of `LeaseholdModule.forRoot`, and what the factory of `forRootAsync` returns. */
export interface LeaseholdModuleOptions {
  /** What `createLeasehold` returned. The module closes it when the application shuts down. */
  readonly leasehold: { createWorker(): WorkerDefinition; close(): Promise<void> };
  /**
   * The options of the worker that is started with the application. `false`: none is started, for processes that only start
   * jobs. Default: those of `start`. Without handlers, none is started either.
   */
  readonly worker?: WorkerStartOptions | false | undefined;
  /** Returns the worker that handlers are added to, for instance one with middleware. Default: `leasehold.createWorker()`. */
  readonly defineWorker?: (() => WorkerDefinition) | undefined;
  /** Called after the Leasehold was closed: the place to close adapters and the pool. */
  readonly onClosed?: (() => Promise<void> | void) | undefined;
}

export const knownOptions: OptionNames<keyof LeaseholdModuleOptions> = {
  leasehold: true,
  worker: true,
  defineWorker: true,
  onClosed: true,
};

/** The worker of the application: all providers with `@JobHandler` are its handlers. */
export class LeaseholdWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #discovery: DiscoveryService;
  readonly #options: LeaseholdModuleOptions;
  #running: RunningWorker | undefined;

  constructor(discovery: DiscoveryService, options: LeaseholdModuleOptions) {
    requireOptions(options, "LeaseholdModule", knownOptions);
    this.#discovery = discovery;
    this.#options = options;
  }

  /** The running worker, for health checks. Undefined before the application has started, and with `worker: false`. */
  get running(): RunningWorker | undefined {
    return this.#running;
  }

  /** A worker with all handlers that is not started: for `kit.drain` in tests, and for `runUntilIdle`. */
  createWorker(): WorkerDefinition {
    const { leasehold, defineWorker = () => leasehold.createWorker() } = this.#options;
    return this.#handlers().reduce<WorkerDefinition>(
      (worker, handler) => worker.implementJobType(handler as never),
      defineWorker(),
    );
  }

  async onApplicationBootstrap(): Promise<void> {
    const { worker } = this.#options;
    if (worker === false || this.#handlers().length === 0) return;
    this.#running = await this.createWorker().start(worker);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#options.leasehold.close();
    await this.#options.onClosed?.();
  }

  #handlers(): object[] {
    return this.#discovery.getProviders({ metadataKey: HandledType.KEY }).map((wrapper) => {
      const settings = this.#discovery.getMetadataByDecorator(HandledType, wrapper)!;
      if (!wrapper.isDependencyTreeStatic()) {
        throw new InvalidOptionError(
          "JobHandler",
          `must not be on a request-scoped provider: a job has no request. Make ${wrapper.name} a singleton`,
          settings.typeName,
        );
      }
      const provider = wrapper.instance as JobHandlerProvider;
      return { ...settings, process: (options: never) => provider.process(options) };
    });
  }
}
