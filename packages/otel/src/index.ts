export type { ObserveStoreOptions, OtelObservabilityAdapterOptions } from "./options.ts";

export { createOtelObservabilityAdapter, type OtelObservabilityAdapter } from "./otel-adapter.ts";
