import { createTraceState, TraceFlags } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { formatTraceContext, parseTraceContext } from "./trace-context.ts";

const start = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  traceFlags: TraceFlags.SAMPLED,
};

const traceparent = `00-${start.traceId}-${start.spanId}-01`;

describe("the stored trace context", () => {
  it("is W3C Trace Context as JSON", () => {
    expect(formatTraceContext(start, undefined)).toBe(`{"traceparent":"${traceparent}"}`);
    expect(parseTraceContext(`{"traceparent":"${traceparent}"}`)).toEqual({
      start: { ...start, isRemote: true },
      previous: undefined,
    });
  });

  it("keeps the vendor's state and the job before", () => {
    const traced = { ...start, traceState: createTraceState("vendor=a,other=b") };
    const previous = { ...start, spanId: "00f067aa0ba902b7", traceFlags: TraceFlags.NONE };
    const text = formatTraceContext(traced, previous);
    expect(JSON.parse(text)).toEqual({
      traceparent,
      tracestate: "vendor=a,other=b",
      previous: `00-${start.traceId}-00f067aa0ba902b7-00`,
    });
    const parsed = parseTraceContext(text);
    expect(parsed?.start.traceState?.serialize()).toBe("vendor=a,other=b");
    expect(parsed?.previous).toEqual({ ...previous, isRemote: true });
  });

  it("leaves out a state that is longer than the standard allows", () => {
    const traceState = { ...createTraceState(), serialize: () => "x".repeat(513) };
    expect(formatTraceContext({ ...start, traceState: traceState as never }, undefined)).toBe(
      `{"traceparent":"${traceparent}"}`,
    );
  });

  it("reads later versions, and nothing that is not one", () => {
    expect(parseTraceContext(`{"traceparent":"cc-${start.traceId}-${start.spanId}-01-more"}`)?.start).toEqual(
      {
        ...start,
        isRemote: true,
      },
    );
    const refused = [
      null,
      "",
      "null",
      "7",
      "[]",
      "{",
      '{"traceparent":7}',
      '{"traceparent":"00-short-01"}',
      `{"traceparent":"ff-${start.traceId}-${start.spanId}-01"}`,
      `{"traceparent":"00-${start.traceId.toUpperCase()}-${start.spanId}-01"}`,
    ];
    for (const text of refused) expect(parseTraceContext(text), String(text)).toBeUndefined();
  });
});
