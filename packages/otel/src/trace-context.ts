import { createTraceState, type SpanContext } from "@opentelemetry/api";

/**
 * What is stored with a job, as JSON: the span that started it, in the fields of W3C Trace Context, and for a
 * continuation the attempt at the job before it. Written here instead of by the global propagator, because a job that
 * is stored for a month must be readable by whatever is configured then. Baggage is left out: it may hold data that
 * must not be stored.
 */
export interface JobTraceContext {
  readonly start: SpanContext;
  readonly previous: SpanContext | undefined;
}

const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;

// As for the traceparent header: later versions may append fields, and ff is no version.
const traceparentForm = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
// What `formatTraceContext` writes for most jobs; recognised without parsing JSON.
const usualForm = /^\{"traceparent":"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})"\}$/;

const longestTracestate = 512;

const toSpanContext = ([, traceId, spanId, traceFlags]: RegExpExecArray): SpanContext => ({
  traceId: traceId!,
  spanId: spanId!,
  traceFlags: Number.parseInt(traceFlags!, 16),
  isRemote: true,
});

const parseTraceparent = (traceparent: unknown): SpanContext | undefined => {
  const match = typeof traceparent === "string" ? traceparentForm.exec(traceparent) : null;
  return match ? toSpanContext(match) : undefined;
};

export const formatTraceContext = (start: SpanContext, previous: SpanContext | undefined): string => {
  const traceparent = formatTraceparent(start);
  const tracestate = start.traceState?.serialize();
  if (!tracestate && !previous) return `{"traceparent":"${traceparent}"}`;
  return JSON.stringify({
    traceparent,
    ...(tracestate && tracestate.length <= longestTracestate && { tracestate }),
    ...(previous && { previous: formatTraceparent(previous) }),
  });
};

/** Undefined for a job that was started untraced, or traced by something else. */
export const parseTraceContext = (text: string | null): JobTraceContext | undefined => {
  if (text === null) return undefined;
  const match = usualForm.exec(text);
  if (match) return { start: toSpanContext(match), previous: undefined };
  try {
    const { traceparent, tracestate, previous } = JSON.parse(text) as Record<string, unknown>;
    const start = parseTraceparent(traceparent);
    if (start && typeof tracestate === "string") start.traceState = createTraceState(tracestate);
    return start && { start, previous: parseTraceparent(previous) };
  } catch {
    return undefined;
  }
};
