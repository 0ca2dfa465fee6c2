import {
  type Attributes,
  context,
  INVALID_TRACEID,
  type Span,
  type SpanContext,
  SpanKind,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { JobEventData, StartTrace, StartTraceData } from "leasehold/adapter";
import {
  createSpanDescriptions,
  destinationTemplate,
  type Operation,
  operationAttributes,
  operations,
} from "./messaging.ts";
import { recordError } from "./record-error.ts";
import { formatTraceContext, parseTraceContext } from "./trace-context.ts";

/** Where the attempt at a job is right now; undefined when it runs elsewhere or nowhere. */
export type FindAttempt = (jobId: string) => SpanContext | undefined;

/** A producer span around what creates jobs, in the context of the caller. */
export const createStartTracing = (
  tracer: Tracer,
  findAttempt: FindAttempt,
): ((data: StartTraceData) => StartTrace | undefined) => {
  const starting = createSpanDescriptions(operations.start);
  const continuing = createSpanDescriptions(operations.continue);

  const startSpan = (data: StartTraceData): Span => {
    const [job] = data.jobs;
    if (data.jobs.length > 1) return startBatchSpan(tracer, data.jobs);
    const descriptions = data.operation === "continueWith" ? continuing : starting;
    const { name, template, attributes } = descriptions.get(job!.queue, job!.typeName);
    const span = tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes });
    if (span.isRecording()) {
      span.setAttributes({
        "messaging.destination.template": template,
        "messaging.message.id": job!.id,
        "messaging.message.conversation_id": job!.sequenceId,
        "leasehold.job.type": job!.typeName,
      });
    }
    return span;
  };

  return (data) => {
    const span = startSpan(data);
    const spanContext = span.spanContext();
    if (spanContext.traceId === INVALID_TRACEID) return undefined;
    const { predecessor } = data;
    const previous =
      predecessor && (findAttempt(predecessor.id) ?? parseTraceContext(predecessor.traceContext)?.start);
    return {
      traceContext: formatTraceContext(spanContext, previous ?? undefined),
      run: (callback) => context.with(trace.setSpan(context.active(), span), callback),
      end: ({ deduplicated, error }) => {
        if (error !== undefined) recordError(span, error);
        else if (deduplicated > 0) span.setAttribute("leasehold.start.deduplicated", deduplicated);
        span.end();
      },
    };
  };
};

/** One span for all: named by what the jobs have in common. */
const startBatchSpan = (tracer: Tracer, jobs: readonly JobEventData[]): Span => {
  const operation: Operation = operations.start;
  const { queue, typeName } = jobs[0]!;
  const sameQueue = jobs.every((job) => job.queue === queue);
  const sameType = sameQueue && jobs.every((job) => job.typeName === typeName);
  const template = sameType ? destinationTemplate(queue, typeName) : undefined;
  const destination = template ?? (sameQueue ? queue : undefined);
  const attributes: Attributes = {
    ...operationAttributes(operation),
    "messaging.batch.message_count": jobs.length,
    ...(sameQueue && { "messaging.destination.name": queue }),
    ...(template !== undefined && {
      "messaging.destination.template": template,
      "leasehold.job.type": typeName,
    }),
  };
  const name = destination === undefined ? operation.name : `${operation.name} ${destination}`;
  return tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes });
};
