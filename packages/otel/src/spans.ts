import {
  type Attributes,
  context,
  INVALID_TRACEID,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type {
  AttemptTrace,
  AttemptTraceData,
  AttemptTraceEnding,
  JobEventData,
  StartTrace,
  StartTraceData,
} from "leasehold/adapter";
import {
  createSpanDescriptions,
  destinationTemplate,
  type Operation,
  operationAttributes,
  operations,
} from "./messaging.ts";
import { formatTraceContext, parseTraceContext } from "./trace-context.ts";

const describe = (error: unknown): { name: string; message: string } => {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) };
  return { name: error.name || "Error", message: error.message };
};

/** Marks a span as failed. What was thrown may be anything, and must not keep the span from being ended. */
const recordError = (span: Span, error: unknown): void => {
  if (!span.isRecording()) return;
  try {
    const { name, message } = describe(error);
    span.setAttribute("error.type", name);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
    span.recordException(error instanceof Error ? error : message);
  } catch {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
};

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

export interface AttemptTracing {
  readonly attempt: (data: AttemptTraceData) => AttemptTrace | undefined;
  readonly findAttempt: FindAttempt;
}

const link = (spanContext: SpanContext, kind: "previous_job" | "blocker"): Link => ({
  context: spanContext,
  attributes: { "leasehold.link": kind },
});

// Not an error: the attempt was cancelled, or another worker completed the job.
const harmlessLosses: ReadonlySet<string | null> = new Set(["cancelled", "already_completed"]);

/**
 * A consumer span for each attempt, as the child of the span that started the job: one job is one message, so the
 * whole of a sequence and what it started is one trace. Only what the parent cannot say is a link.
 */
export const createAttemptTracing = (tracer: Tracer): AttemptTracing => {
  const descriptions = createSpanDescriptions(operations.process);
  const running = new Map<string, SpanContext>();

  const describeEnd = (
    span: Span,
    data: AttemptTraceData,
    { outcome, abortReason, failureReason, error }: AttemptTraceEnding,
  ): void => {
    // A literal of one shape, set at once and after the start: the SDK copies what it is given at the start three times.
    span.setAttributes({
      "messaging.destination.template": descriptions.get(data.queue, data.typeName).template,
      "messaging.message.id": data.id,
      "messaging.message.conversation_id": data.sequenceId,
      "messaging.client.id": data.workerId,
      "leasehold.job.type": data.typeName,
      "leasehold.job.attempt": data.attempt,
      "leasehold.job.outcome": outcome,
    });
    if (abortReason !== null) span.setAttribute("leasehold.job.abort_reason", abortReason);
    if (failureReason !== null) span.setAttribute("leasehold.job.failure_reason", failureReason);
    if (outcome === "retried" || outcome === "failed") recordError(span, error ?? new Error("unknown"));
    if (outcome === "lease_lost" && !harmlessLosses.has(abortReason)) {
      span.setAttribute("error.type", abortReason ?? "lease_lost");
      span.setStatus({ code: SpanStatusCode.ERROR, message: "The lease was lost" });
    }
  };

  const attempt = (data: AttemptTraceData): AttemptTrace | undefined => {
    const stored = parseTraceContext(data.traceContext);
    // Not the current context, which belongs to the call that woke the worker.
    const parent = stored ? trace.setSpanContext(ROOT_CONTEXT, stored.start) : ROOT_CONTEXT;
    const { name, attributes } = descriptions.get(data.queue, data.typeName);
    const options = { kind: SpanKind.CONSUMER, attributes };
    const span = tracer.startSpan(
      name,
      stored?.previous ? { ...options, links: [link(stored.previous, "previous_job")] } : options,
      parent,
    );
    const spanContext = span.spanContext();
    if (spanContext.traceId === INVALID_TRACEID) return undefined;
    running.set(data.id, spanContext);

    return {
      run: (callback) => context.with(trace.setSpan(parent, span), callback),
      linkBlockers: (blockers) => {
        for (const { traceContext } of blockers) {
          const blocker = parseTraceContext(traceContext);
          if (blocker) span.addLink(link(blocker.start, "blocker"));
        }
      },
      end: (ending) => {
        if (running.get(data.id) === spanContext) running.delete(data.id);
        if (span.isRecording()) describeEnd(span, data, ending);
        span.end();
      },
    };
  };

  return { attempt, findAttempt: (jobId) => running.get(jobId) };
};
