import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Module,
} from "@nestjs/common";
import { DiscoveryModule, DiscoveryService } from "@nestjs/core";
import { requireOptions } from "leasehold/adapter";
import { leaseholdToken } from "./decorators.ts";
import { knownOptions, type LeaseholdModuleOptions, LeaseholdWorker } from "./leasehold-worker.ts";

/** The token of the module's options: tests override it with a Leasehold of `createTestKit`. */
export const leaseholdOptionsToken = "LEASEHOLD_OPTIONS";

interface Extras {
  /** Whether other modules can inject the Leasehold without an import of this one. Default: true. */
  readonly isGlobal?: boolean;
}

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<LeaseholdModuleOptions>({
  optionsInjectionToken: leaseholdOptionsToken,
})
  .setClassMethodName("forRoot")
  .setExtras<Extras>({ isGlobal: true }, (definition, { isGlobal = true }) => ({
    ...definition,
    global: isGlobal,
  }))
  .build();

/** Provides a Leasehold, and runs a worker with the providers that have `@JobHandler`. */
// oxlint-disable-next-line typescript/no-extraneous-class -- a module of NestJS is a class
export class LeaseholdModule {
  static forRoot(options: LeaseholdModuleOptions & Extras): DynamicModule {
    requireOptions(options, "LeaseholdModule.forRoot", { ...knownOptions, isGlobal: true });
    return { ...ConfigurableModuleClass.forRoot(options), module: LeaseholdModule };
  }

  static forRootAsync(
    options: ConfigurableModuleAsyncOptions<LeaseholdModuleOptions> & Extras,
  ): DynamicModule {
    return { ...ConfigurableModuleClass.forRootAsync(options), module: LeaseholdModule };
  }
}

// Called as functions: the syntax of decorators is not erasable, and the package is built without its metadata.
Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: leaseholdToken,
      inject: [leaseholdOptionsToken],
      useFactory: ({ leasehold }: LeaseholdModuleOptions) => leasehold,
    },
    {
      provide: LeaseholdWorker,
      inject: [DiscoveryService, leaseholdOptionsToken],
      useFactory: (discovery: DiscoveryService, options: LeaseholdModuleOptions) =>
        new LeaseholdWorker(discovery, options),
    },
  ],
  exports: [leaseholdToken, LeaseholdWorker],
})(LeaseholdModule);
