import {
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
import type { AttemptTrace, AttemptTraceData, AttemptTraceEnding } from "leasehold/adapter";
import { createSpanDescriptions, operations } from "./messaging.ts";
import { recordError } from "./record-error.ts";
import type { FindAttempt } from "./start-span.ts";
import { parseTraceContext } from "./trace-context.ts";

export interface AttemptTracing {
  readonly attempt: (data: AttemptTraceData) => AttemptTrace | undefined;
  readonly findAttempt: FindAttempt;
}

const link = (spanContext: SpanContext, kind: "previous_job" | "blocker"): Link => ({
  context: spanContext,
  attributes: { "leasehold.link": kind },
});

// Nothing went wrong: the work was called off, or somebody else has done it.
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
    // Never the current context: that is of whoever happened to wake the worker.
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
