import { type Span, SpanStatusCode } from "@opentelemetry/api";

const describe = (error: unknown): { name: string; message: string } => {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) };
  return { name: error.name || "Error", message: error.message };
};

/** Marks a span as failed. What was thrown may be anything, and must not keep the span from being ended. */
export const recordError = (span: Span, error: unknown): void => {
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
