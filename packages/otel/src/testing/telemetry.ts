import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createOtelObservabilityAdapter, type OtelObservabilityAdapter } from "../otel-adapter.ts";
import type { OtelObservabilityAdapterOptions } from "../options.ts";

/** The SDK with exporters that keep everything in memory. */
export interface Telemetry {
  readonly adapter: OtelObservabilityAdapter;
  readonly tracerProvider: BasicTracerProvider;
  /** Undefined when there is nothing to export. */
  readonly collectAll: () => Promise<ResourceMetrics | undefined>;
  /** Every metric as it would be exported now, by name. */
  readonly collect: () => Promise<ReadonlyMap<string, MetricData>>;
  /** The series of a metric as it would be exported now; a histogram's value is how often it was recorded. */
  readonly series: (name: string) => Promise<readonly { attributes: object; value: number }[]>;
  readonly spans: () => readonly ReadableSpan[];
}

/** Spans around handlers need a context manager; there is one for the process. */
export const registerContextManager = (): void => {
  context.disable();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
};

export const createTelemetry = (options: OtelObservabilityAdapterOptions = {}): Telemetry => {
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const spanExporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spanExporter)],
  });

  const collectAll = async (): Promise<ResourceMetrics | undefined> => {
    metricExporter.reset();
    await meterProvider.forceFlush();
    return metricExporter.getMetrics()[0];
  };
  const collect = async (): Promise<ReadonlyMap<string, MetricData>> => {
    const { scopeMetrics = [] } = (await collectAll()) ?? {};
    const metrics = scopeMetrics.flatMap((scope) => scope.metrics);
    return new Map(metrics.map((metric) => [metric.descriptor.name, metric]));
  };

  return {
    adapter: createOtelObservabilityAdapter({
      meter: meterProvider.getMeter("test"),
      tracer: tracerProvider.getTracer("test"),
      ...options,
    }),
    tracerProvider,
    collectAll,
    collect,
    series: async (name) => {
      const points = (await collect()).get(name)?.dataPoints ?? [];
      return (points as readonly DataPoint<number | Histogram>[]).map(({ attributes, value }) => ({
        attributes: { ...attributes },
        value: typeof value === "number" ? value : value.count,
      }));
    },
    spans: () => spanExporter.getFinishedSpans(),
  };
};
