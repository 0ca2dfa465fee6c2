import { type Meter, metrics, trace, type Tracer } from "@opentelemetry/api";
import { InvalidOptionError, requireOptions } from "leasehold/adapter";

/** Options of `createOtelObservabilityAdapter`. */
export interface OtelObservabilityAdapterOptions {
  /** Default: `metrics.getMeter("leasehold")`, of the SDK that is registered when the adapter is created. */
  readonly meter?: Meter | undefined;
  /** Default: `trace.getTracer("leasehold")`. */
  readonly tracer?: Tracer | undefined;
  /** Put before the names of all metrics except those of the messaging conventions. Default: `"leasehold"`. */
  readonly metricPrefix?: string | undefined;
  /** Also emit the metrics that OpenTelemetry's messaging conventions name. Default: false. */
  readonly messagingMetrics?: boolean | undefined;
}

/** Options of `observeStore`. */
export interface ObserveStoreOptions {
  /** How old a reading may be to be reported again, for several readers or frequent scrapes. Default: 5 seconds. */
  readonly maxAgeMs?: number | undefined;
  /** How long the store may take. After that nothing is reported this time. Default: 5 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Up to which number jobs of a queue, type and status are counted. Default: 100,000. */
  readonly scanLimit?: number | undefined;
}

/** Options with their defaults filled in. */
export type Resolved<T> = { readonly [TKey in keyof T]-?: Exclude<T[TKey], undefined> };

const prefixForm = /^[a-z][a-z0-9_.-]{0,62}$/i;

export const checkOptions = (
  passed: OtelObservabilityAdapterOptions,
): Resolved<OtelObservabilityAdapterOptions> => {
  const options = requireOptions<keyof OtelObservabilityAdapterOptions>(
    passed,
    "createOtelObservabilityAdapter",
    {
      meter: true,
      tracer: true,
      metricPrefix: true,
      messagingMetrics: true,
    },
  ) as OtelObservabilityAdapterOptions;
  const {
    meter = metrics.getMeter("leasehold"),
    tracer = trace.getTracer("leasehold"),
    metricPrefix = "leasehold",
    messagingMetrics = false,
  } = options;
  if (typeof meter?.createHistogram !== "function")
    throw new InvalidOptionError("meter", "must be an OpenTelemetry Meter", meter);
  if (typeof tracer?.startSpan !== "function")
    throw new InvalidOptionError("tracer", "must be an OpenTelemetry Tracer", tracer);
  if (typeof metricPrefix !== "string" || !prefixForm.test(metricPrefix)) {
    const rule = "must be a letter, then up to 62 letters, digits, dots, dashes and underscores";
    throw new InvalidOptionError("metricPrefix", rule, metricPrefix);
  }
  if (typeof messagingMetrics !== "boolean")
    throw new InvalidOptionError("messagingMetrics", "must be true or false", messagingMetrics);
  return { meter, tracer, metricPrefix, messagingMetrics };
};

export const checkObserveStoreOptions = (passed: ObserveStoreOptions): Resolved<ObserveStoreOptions> => {
  const options = requireOptions<keyof ObserveStoreOptions>(passed, "observeStore", {
    maxAgeMs: true,
    timeoutMs: true,
    scanLimit: true,
  }) as ObserveStoreOptions;
  const integer = (option: keyof ObserveStoreOptions, fallback: number, min: number, max: number): number => {
    const { [option]: value = fallback } = options;
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidOptionError(option, `must be an integer from ${min} to ${max}`, value);
  };
  return {
    maxAgeMs: integer("maxAgeMs", 5_000, 0, 86_400_000),
    timeoutMs: integer("timeoutMs", 5_000, 1, 600_000),
    scanLimit: integer("scanLimit", 100_000, 1, 1_000_000),
  };
};
