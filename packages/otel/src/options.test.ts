import { createInProcessStateAdapter } from "leasehold";
import { describe, expect, it } from "vitest";
import { createOtelObservabilityAdapter } from "./otel-adapter.ts";

const options = (value: object) => value as Parameters<typeof createOtelObservabilityAdapter>[0];

describe("options", () => {
  it("have defaults that work without an SDK", () => {
    const adapter = createOtelObservabilityAdapter();
    adapter.workerStarted?.({ workerId: "w1", typeNames: [] });
    adapter.claimBatch?.({ workerId: "w1", requested: 1, claimed: 1, durationMs: 1 });
    const job = {
      id: "1",
      typeName: "t",
      queue: "q",
      sequenceId: "1",
      sequenceTypeName: "t",
      rootSequenceId: "1",
    };
    expect(
      adapter.tracing?.start?.({ operation: "startJobSequence", jobs: [job], predecessor: null }),
    ).toBeUndefined();
    adapter.observeStore(createInProcessStateAdapter())();
  });

  it.each([
    ["options", null],
    ["unknown", { unknown: 1 }],
    ["meter", { meter: {} }],
    ["tracer", { tracer: null }],
    ["metricPrefix", { metricPrefix: "" }],
    ["metricPrefix", { metricPrefix: "1st" }],
    ["metricPrefix", { metricPrefix: "a b" }],
    ["messagingMetrics", { messagingMetrics: "yes" }],
  ])("refuse a wrong %s", (option, value) => {
    expect(() => createOtelObservabilityAdapter(options(value as object))).toThrow(
      expect.objectContaining({ code: "InvalidOption", option }),
    );
  });

  it.each([
    ["stateAdapter", {}, {}],
    ["options", createInProcessStateAdapter(), null],
    ["maxAgeMs", createInProcessStateAdapter(), { maxAgeMs: -1 }],
    ["timeoutMs", createInProcessStateAdapter(), { timeoutMs: 0 }],
    ["scanLimit", createInProcessStateAdapter(), { scanLimit: 1.5 }],
    ["other", createInProcessStateAdapter(), { other: 1 }],
  ])("of observeStore refuse a wrong %s", (option, store, value) => {
    const { observeStore } = createOtelObservabilityAdapter();
    expect(() => observeStore(store as never, value as never)).toThrow(
      expect.objectContaining({ code: "InvalidOption", option }),
    );
  });
});
