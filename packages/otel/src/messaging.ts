import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import type { ObservabilityAdapter, StartTrace, StartTraceData, Tracing } from "leasehold/adapter";
import { createPairTable, createSeriesTable, type PairTable, type SeriesTable } from "./series.ts";

const messagingSystem = "leasehold";

/** An operation of OpenTelemetry's messaging conventions: our name for it, and which of theirs it is. */
export interface Operation {
  readonly name: "start" | "continue" | "process" | "claim" | "commit";
  readonly type: "send" | "process" | "receive" | "settle";
}

export const operations: { readonly [TName in Operation["name"]]: Operation } = {
  start: { name: "start", type: "send" },
  continue: { name: "continue", type: "send" },
  process: { name: "process", type: "process" },
  claim: { name: "claim", type: "receive" },
  commit: { name: "commit", type: "settle" },
};

/** What the conventions want to be known when a span begins, for samplers. */
export const operationAttributes = ({ name, type }: Operation): Attributes => ({
  "messaging.system": messagingSystem,
  "messaging.operation.name": name,
  "messaging.operation.type": type,
});

/** The part of a queue that one handler serves: few enough of them to name spans by. */
export const destinationTemplate = (queue: string, typeName: string): string => `${queue}/${typeName}`;

export interface SpanDescription {
  readonly name: string;
  readonly template: string;
  readonly attributes: Attributes;
}

/** The parts of an operation's spans that are the same for every job of a queue and a type. */
export const createSpanDescriptions = (operation: Operation): PairTable<SpanDescription> =>
  createPairTable((queue, typeName) => {
    const template = destinationTemplate(queue, typeName);
    return {
      name: `${operation.name} ${template}`,
      template,
      attributes: { ...operationAttributes(operation), "messaging.destination.name": queue },
    };
  });

// Prescribed by the conventions, in seconds.
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The metrics that OpenTelemetry's messaging conventions name, for dashboards that know nothing of Leasehold. */
export interface MessagingMetrics {
  readonly events: ObservabilityAdapter;
  /** Measures starts, whether or not they are traced. */
  readonly measureStarts: (start: NonNullable<Tracing["start"]>) => NonNullable<Tracing["start"]>;
}

export const createMessagingMetrics = (meter: Meter): MessagingMetrics => {
  const seconds = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      unit: "s",
      description,
      advice: { explicitBucketBoundaries: boundaries },
    });
  const operationDuration = seconds("messaging.client.operation.duration", "Duration of calls to the store");
  const processDuration = seconds("messaging.process.duration", "Duration of processing operation");

  const byQueue = (operation: Operation): SeriesTable =>
    createSeriesTable((queue) => ({
      ...operationAttributes(operation),
      "messaging.destination.name": queue,
    }));
  const started = byQueue(operations.start);
  const claimed = byQueue(operations.claim);
  const processed = byQueue(operations.process);
  const claimAttributes = operationAttributes(operations.claim);
  const commitAttributes = operationAttributes(operations.commit);

  const sent = meter.createObservableCounter("messaging.client.sent.messages", {
    unit: "{message}",
    description: "Jobs created",
  });
  const consumed = meter.createObservableCounter("messaging.client.consumed.messages", {
    unit: "{message}",
    description: "Jobs claimed by workers",
  });
  meter.addBatchObservableCallback(
    (result) => {
      for (const { value, attributes } of started.all()) result.observe(sent, value, attributes);
      for (const { value, attributes } of claimed.all()) result.observe(consumed, value, attributes);
    },
    [sent, consumed],
  );

  const measure = (data: StartTraceData, trace: StartTrace | undefined): StartTrace => {
    const begunAt = performance.now();
    const operation = data.operation === "continueWith" ? operations.continue : operations.start;
    return {
      traceContext: trace?.traceContext ?? null,
      run: (callback) => (trace ? trace.run(callback) : callback()),
      end: (ending) => {
        operationDuration.record((performance.now() - begunAt) / 1_000, {
          ...operationAttributes(operation),
          ...(ending.error !== undefined && {
            "error.type": ending.error instanceof Error ? ending.error.name : "_OTHER",
          }),
        });
        trace?.end(ending);
      },
    };
  };

  return {
    events: {
      jobCreated: ({ queue }) => {
        started.get(queue, "").value += 1;
      },
      jobTimeInQueue: ({ queue }) => {
        claimed.get(queue, "").value += 1;
      },
      jobAttemptDuration: ({ queue, durationMs }) =>
        processDuration.record(durationMs / 1_000, processed.get(queue, "").attributes),
      claimBatch: ({ durationMs }) => operationDuration.record(durationMs / 1_000, claimAttributes),
      commitBatch: ({ durationMs }) => operationDuration.record(durationMs / 1_000, commitAttributes),
    },
    measureStarts: (start) => (data) => measure(data, start(data)),
  };
};
