import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { beforeAll, describe, expect, it } from "vitest";
import { createObservedBench, stories } from "./testing/stories.ts";
import { createTelemetry, registerContextManager } from "./testing/telemetry.ts";

beforeAll(registerContextManager);

const contextOf = (span: ReadableSpan) => {
  const { traceId, spanId } = span.spanContext();
  return { traceId, spanId };
};

describe("spans", () => {
  it("of a start and its attempt are parent and child, with the messaging attributes", async () => {
    const { adapter, spans } = createTelemetry();
    const bench = await createObservedBench(adapter);
    const { id } = await bench.leasehold.startJobSequence({ typeName: "quick", queue: "mail" });
    await bench.drain(bench.worker, { workerId: "w1", queues: { mail: 1 } });
    const [start, attempt] = spans();
    const common = {
      "messaging.system": "leasehold",
      "messaging.destination.name": "mail",
      "messaging.destination.template": "mail/quick",
      "messaging.message.id": id,
      "messaging.message.conversation_id": id,
      "leasehold.job.type": "quick",
    };
    expect(start).toMatchObject({ name: "start mail/quick", kind: SpanKind.PRODUCER });
    expect(start!.attributes).toEqual({
      ...common,
      "messaging.operation.name": "start",
      "messaging.operation.type": "send",
    });
    expect(start!.parentSpanContext).toBeUndefined();
    expect(attempt).toMatchObject({ name: "process mail/quick", kind: SpanKind.CONSUMER, links: [] });
    expect(attempt!.attributes).toEqual({
      ...common,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.client.id": "w1",
      "leasehold.job.attempt": 1,
      "leasehold.job.outcome": "completed",
    });
    expect(attempt!.parentSpanContext).toMatchObject(contextOf(start!));
    expect(attempt!.status).toEqual({ code: SpanStatusCode.UNSET });
  });

  it("surround the handler: what it starts and traces is inside", async () => {
    const { adapter, spans, tracerProvider } = createTelemetry();
    const bench = await createObservedBench(adapter);
    const { leasehold } = bench;
    const tracer = tracerProvider.getTracer("user");
    const worker = leasehold
      .createWorker()
      .implementJobType({
        typeName: "breaks",
        process: async () => {
          await Promise.resolve();
          await tracer.startActiveSpan("inner", async (span) => {
            await leasehold.startJobSequence({ typeName: "quick" });
            span.end();
          });
          return null;
        },
      })
      .implementJobType({ typeName: "quick", process: async () => 1 });
    await leasehold.startJobSequence({ typeName: "breaks" });
    await bench.drain(worker);
    const find = (name: string) => spans().find((span) => span.name === name)!;
    const parentOf = (name: string) => find(name).parentSpanContext?.spanId;
    const idOf = (name: string) => find(name).spanContext().spanId;
    expect(parentOf("inner")).toBe(idOf("process default/breaks"));
    expect(parentOf("start default/quick")).toBe(idOf("inner"));
    expect(parentOf("process default/quick")).toBe(idOf("start default/quick"));
  });

  it("of a worker do not hang on whatever was going on when it was started", async () => {
    const { adapter, spans, tracerProvider } = createTelemetry();
    const { start: _start, ...tracing } = adapter.tracing!;
    const bench = await createObservedBench({ tracing });
    await bench.leasehold.startJobSequence({ typeName: "quick" });
    await tracerProvider.getTracer("user").startActiveSpan("deployment", async (span) => {
      await bench.drain(bench.worker);
      span.end();
    });
    expect(spans().map(({ name, parentSpanContext }) => [name, parentSpanContext])).toEqual([
      ["process default/quick", undefined],
      ["deployment", undefined],
    ]);
  });

  const endings = async (story: string) => {
    const { adapter, spans } = createTelemetry();
    await stories[story]!(adapter);
    return spans()
      .filter(({ kind }) => kind === SpanKind.CONSUMER)
      .map(({ name, attributes, status, events }) => ({
        name,
        outcome: attributes["leasehold.job.outcome"],
        abortReason: attributes["leasehold.job.abort_reason"],
        failureReason: attributes["leasehold.job.failure_reason"],
        errorType: attributes["error.type"],
        status: status.code,
        exceptions: events.map((event) => event.attributes?.["exception.type"]),
      }));
  };
  const nothing = { abortReason: undefined, failureReason: undefined, errorType: undefined, exceptions: [] };

  it("end with what became of the attempt", async () => {
    const ends = await endings("everyday");
    const of = (type: string) => ends.filter(({ name }) => name === `process default/${type}`);
    expect(of("breaks")).toMatchObject([
      { outcome: "retried", status: SpanStatusCode.ERROR, errorType: "TypeError", exceptions: ["TypeError"] },
      { outcome: "failed", status: SpanStatusCode.ERROR, failureReason: "attempts_exhausted" },
    ]);
    expect(of("later")).toMatchObject([
      { outcome: "rescheduled", status: SpanStatusCode.UNSET, ...nothing },
      { outcome: "completed", status: SpanStatusCode.UNSET, ...nothing },
    ]);
    expect(of("chain")).toMatchObject([{ outcome: "completed", ...nothing }]);
  });

  it("end when the attempt times out, loses its lease or is refused", async () => {
    expect(await endings("timeout")).toMatchObject([
      {
        outcome: "failed",
        abortReason: "timeout",
        errorType: "JobTimeoutError",
        status: SpanStatusCode.ERROR,
      },
    ]);
    expect(await endings("completed elsewhere")).toMatchObject([
      { outcome: "lease_lost", abortReason: "already_completed", status: SpanStatusCode.UNSET },
      { outcome: "lease_lost", abortReason: "error", status: SpanStatusCode.ERROR },
      {},
    ]);
    expect(await endings("fenced")).toMatchObject([
      { outcome: "lease_lost", abortReason: "cancelled", status: SpanStatusCode.UNSET },
      { outcome: "lease_lost", abortReason: "cancelled" },
    ]);
  });

  it("all end, once each, and leave nothing behind", async () => {
    const { adapter, spans } = createTelemetry();
    const begun: unknown[] = [];
    const counted = {
      ...adapter,
      jobAttemptStarted: ({ id, attempt }: { id: string; attempt: number }) => void begun.push([id, attempt]),
    };
    for (const story of Object.values(stories)) await story(counted);
    const ended = spans()
      .filter(({ kind }) => kind === SpanKind.CONSUMER)
      .map(({ attributes }) => [attributes["messaging.message.id"], attributes["leasehold.job.attempt"]]);
    const inOrder = (attempts: unknown[]) => attempts.map((attempt) => JSON.stringify(attempt)).sort();
    expect(inOrder(ended)).toEqual(inOrder(begun));
  });

  it("of many starts are one, named by what the jobs have in common", async () => {
    const { adapter, spans } = createTelemetry();
    const { leasehold } = await createObservedBench(adapter);
    const quick = { typeName: "quick" as const };
    await leasehold.startJobSequences({ sequences: [quick, quick] });
    await leasehold.startJobSequences({ sequences: [quick, { typeName: "later" }] });
    await leasehold.startJobSequences({ sequences: [quick, { ...quick, queue: "mail" }] });
    expect(spans().map(({ name }) => name)).toEqual(["start default/quick", "start default", "start"]);
    expect(spans()[0]!.attributes).toEqual({
      "messaging.system": "leasehold",
      "messaging.operation.name": "start",
      "messaging.operation.type": "send",
      "messaging.destination.name": "default",
      "messaging.destination.template": "default/quick",
      "messaging.batch.message_count": 2,
      "leasehold.job.type": "quick",
    });
    expect(spans()[2]!.attributes).not.toHaveProperty("messaging.destination.name");
  });

  it("say that a start failed, or found a duplicate", async () => {
    const { adapter, spans } = createTelemetry();
    const { leasehold } = await createObservedBench(adapter);
    const deduplication = { key: "once" };
    const { id } = await leasehold.startJobSequence({ typeName: "quick", deduplication });
    await leasehold.startJobSequence({ typeName: "quick", deduplication });
    await expect(leasehold.startJobSequence({ typeName: "quick", id })).rejects.toThrow(id);
    const [, duplicate, failure] = spans();
    expect(duplicate!.attributes["leasehold.start.deduplicated"]).toBe(1);
    expect(failure).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "JobAlreadyExistsError" },
    });
  });
});
