import {
  type AnyStateAdapter,
  InvalidOptionError,
  type LeaseholdEventName,
  type ObservabilityAdapter,
  requirePart,
} from "leasehold/adapter";
import { createCounters } from "./counters.ts";
import { createHistograms } from "./histograms.ts";
import { createMessagingMetrics } from "./messaging.ts";
import {
  checkObserveStoreOptions,
  checkOptions,
  type ObserveStoreOptions,
  type OtelObservabilityAdapterOptions,
} from "./options.ts";
import { createAttemptTracing, createStartTracing } from "./spans.ts";
import { createStoreGauges } from "./store-gauges.ts";

/** An observability adapter, and the gauges that are read from the store instead of counted. */
export type OtelObservabilityAdapter = ObservabilityAdapter & {
  /**
   * Reports the backlog, the age of the oldest runnable job and expired leases whenever metrics are collected. One
   * process of a fleet is enough. Returns a function that ends it.
   */
  readonly observeStore: (stateAdapter: AnyStateAdapter, options?: ObserveStoreOptions) => () => void;
};

/**
 * Metrics and traces through OpenTelemetry. Register the SDK first; spans around handlers also need its context
 * manager. Pass the result to `createLeasehold` as `observabilityAdapter`.
 */
export const createOtelObservabilityAdapter = (
  options: OtelObservabilityAdapterOptions = {},
): OtelObservabilityAdapter => {
  const { meter, tracer, metricPrefix, messagingMetrics } = checkOptions(options);
  const counters = createCounters(meter, metricPrefix);
  const gauges = createStoreGauges(meter, metricPrefix, (error) =>
    counters.stateAdapterError?.({ operation: "observeStore", error }),
  );
  const { attempt, findAttempt } = createAttemptTracing(tracer);
  const start = createStartTracing(tracer, findAttempt);
  const messaging = messagingMetrics ? createMessagingMetrics(meter) : undefined;

  return {
    ...mergeHandlers(counters, createHistograms(meter, metricPrefix), messaging?.events ?? {}),
    tracing: { start: messaging ? messaging.measureStarts(start) : start, attempt },
    observeStore: (stateAdapter, passed = {}) => {
      if (typeof stateAdapter?.getTime !== "function")
        throw new InvalidOptionError("stateAdapter", "must be a state adapter", stateAdapter);
      requirePart(stateAdapter, "statistics", "observeStore");
      return gauges.observe(stateAdapter, checkObserveStoreOptions(passed));
    },
  };
};

/** Most events have one handler, which is then called directly. */
const mergeHandlers = (...parts: readonly ObservabilityAdapter[]): ObservabilityAdapter => {
  const merged: Record<string, (data: unknown) => void> = {};
  for (const part of parts) {
    for (const name of Object.keys(part) as LeaseholdEventName[]) {
      const handler = part[name] as (data: unknown) => void;
      const earlier = merged[name];
      merged[name] = earlier
        ? (data) => {
            earlier(data);
            handler(data);
          }
        : handler;
    }
  }
  return merged;
};
