import { DataPointType, type MetricData } from "@opentelemetry/sdk-metrics";
import { describe, expect, it } from "vitest";
import { createObservedBench, runAllStories, stories } from "./testing/stories.ts";
import { createTelemetry } from "./testing/telemetry.ts";

/** Every metric that is made from events: its kind and the attributes of its series. */
const expected = {
  "worker.started": ["counter", "workerId"],
  "worker.error": ["counter", "loop", "workerId"],
  "worker.stopping": ["counter", "workerId"],
  "worker.stopped": ["counter", "workerId"],
  "job.created": ["counter", "queue", "typeName"],
  "job.blocked": ["counter", "queue", "typeName"],
  "job.unblocked": ["counter", "queue", "typeName"],
  "job.completed": ["counter", "queue", "typeName"],
  "job.failed": ["counter", "queue", "reason", "typeName"],
  "job.cancelled": ["counter", "queue", "typeName"],
  "job.redriven": ["counter", "queue", "typeName"],
  "job.updated": ["counter", "queue", "typeName"],
  "job.deleted": ["counter", "queue", "status", "typeName"],
  "job.reaped": ["counter", "queue", "typeName"],
  "job.attempt.started": ["counter", "queue", "typeName"],
  "job.attempt.completed": ["counter", "queue", "typeName"],
  "job.attempt.failed": ["counter", "queue", "retried", "typeName"],
  "job.attempt.rescheduled": ["counter", "queue", "typeName"],
  "job.attempt.timed_out": ["counter", "queue", "typeName"],
  "job.attempt.taken_by_another_worker": ["counter", "queue", "typeName"],
  "job.attempt.already_completed": ["counter", "queue", "typeName"],
  "job.attempt.lease_expired": ["counter", "queue", "typeName"],
  "job.attempt.lease_renewed": ["counter", "queue", "typeName"],
  "job.attempt.fenced": ["counter", "queue", "refusal", "typeName"],
  "job.attempt.stuck": ["counter", "queue", "typeName"],
  "job.attempt.late_result": ["counter", "queue", "typeName"],
  "job.attempt.transaction_repeated": ["counter", "operation", "queue", "typeName"],
  "job.attempt.released": ["counter", "queue", "typeName"],
  "job.attempt.error_after_completion": ["counter", "queue", "typeName"],
  "job_sequence.created": ["counter", "typeName"],
  "job_sequence.completed": ["counter", "typeName"],
  "job_sequence.failed": ["counter", "reason", "typeName"],
  "recurring_job.ticks": ["counter", "queue", "result", "typeName"],
  "recurring_job.failed": ["counter", "queue", "typeName"],
  "recurring_job.clock_set_back": ["counter"],
  "notify_adapter.context_absence": ["counter", "operation"],
  "notify_adapter.error": ["counter", "operation"],
  "state_adapter.error": ["counter", "operation"],
  "job.duration": ["histogram", "queue", "typeName"],
  "job_sequence.duration": ["histogram", "typeName"],
  "job.attempt.duration": ["histogram", "queue", "typeName"],
  "job.time_in_queue": ["histogram", "queue", "typeName"],
  "recurring_job.lateness": ["histogram", "queue", "typeName"],
  "claim.batch_size": ["histogram"],
  "claim.duration": ["histogram"],
  "commit.batch_size": ["histogram"],
  "commit.duration": ["histogram"],
  "job_type.idle": ["up-down counter", "typeName", "workerId"],
  "job_type.processing": ["up-down counter", "typeName", "workerId"],
} as const;

const kindOf = (metric: MetricData): string => {
  if (metric.dataPointType === DataPointType.HISTOGRAM) return "histogram";
  if (metric.dataPointType !== DataPointType.SUM) return "gauge";
  return metric.isMonotonic ? "counter" : "up-down counter";
};

describe("metrics", () => {
  it("count the times of recurring jobs by what became of them, and measure the lateness of those that ran", async () => {
    const { adapter, series, collect } = createTelemetry();
    await stories.recurring!(adapter);
    const of = (result: string, value: number) => ({
      attributes: { queue: "default", typeName: "quick", result },
      value,
    });
    expect(await series("leasehold.recurring_job.ticks")).toEqual(
      expect.arrayContaining([of("dropped", 2), of("caught_up", 1), of("started", 1)]),
    );
    const lateness = (await collect()).get("leasehold.recurring_job.lateness");
    expect(lateness?.dataPoints[0]?.value).toMatchObject({ count: 2, max: 600_000 });
  });

  it("are all emitted, each with its kind and attributes", async () => {
    const { adapter, collect } = createTelemetry();
    await runAllStories(adapter);
    const emitted = [...(await collect())].map(([name, metric]) => [
      name,
      [
        kindOf(metric),
        ...new Set(metric.dataPoints.flatMap(({ attributes }) => Object.keys(attributes)).toSorted()),
      ],
    ]);
    const wanted = Object.entries(expected).map(([name, description]) => [
      `leasehold.${name}`,
      [...description],
    ]);
    expect(Object.fromEntries(emitted)).toEqual(Object.fromEntries(wanted));
  });

  it("count what happened", async () => {
    const { adapter, series } = createTelemetry();
    await stories["everyday"]!(adapter);
    const queue = "default";
    const of = (typeName: string, value: number, more: object = {}) => ({
      attributes: { queue, typeName, ...more },
      value,
    });
    expect(await series("leasehold.job.created")).toEqual([
      of("chain", 1),
      of("waits", 1),
      of("quick", 3),
      of("breaks", 1),
      of("later", 1),
      of("link", 1),
    ]);
    // The completion of `chain` is written by its own transaction, the others by the committer.
    const completed = (await series("leasehold.job.attempt.completed")).toSorted((a, b) => b.value - a.value);
    expect(completed).toEqual(expect.arrayContaining([of("quick", 2), of("chain", 1), of("link", 1)]));
    expect(await series("leasehold.job.failed")).toEqual([
      of("breaks", 1, { reason: "attempts_exhausted" }),
      of("quick", 1, { reason: "cancelled" }),
    ]);
    expect(await series("leasehold.job.attempt.failed")).toEqual([
      of("breaks", 1, { retried: true }),
      of("breaks", 1, { retried: false }),
    ]);
    expect(await series("leasehold.job.attempt.rescheduled")).toEqual([of("later", 1)]);
    expect(await series("leasehold.job.cancelled")).toEqual([of("quick", 1)]);
    expect(await series("leasehold.job.redriven")).toEqual([of("breaks", 1)]);
    expect(await series("leasehold.job.updated")).toEqual([of("quick", 1)]);
    expect(await series("leasehold.job.blocked")).toEqual([of("waits", 1)]);
    expect(await series("leasehold.job.unblocked")).toEqual([of("waits", 1)]);
    expect(await series("leasehold.job_sequence.completed")).toEqual(
      expect.arrayContaining([{ attributes: { typeName: "chain" }, value: 1 }]),
    );
    for (const name of ["leasehold.job.attempt.duration", "leasehold.job.time_in_queue"]) {
      const attempts = [of("breaks", 2), of("later", 2), of("quick", 2)];
      expect(await series(name), name).toEqual(expect.arrayContaining(attempts));
    }
  });

  it("count every fenced commit, timeout and late result once", async () => {
    const { adapter, series } = createTelemetry();
    await stories["fenced"]!(adapter);
    await stories["timeout"]!(adapter);
    const sum = async (name: string) =>
      (await series(`leasehold.${name}`)).reduce((total, { value }) => total + value, 0);
    const attributes = { queue: "default", typeName: "quick", refusal: "not_running" };
    expect(await series("leasehold.job.attempt.fenced")).toEqual([{ attributes, value: 2 }]);
    expect(await sum("job.attempt.timed_out")).toBe(1);
    expect(await sum("job.attempt.stuck")).toBe(1);
    expect(await sum("job.attempt.late_result")).toBe(1);
  });

  it("say who is idle and who is processing, and return to nothing", async () => {
    const { adapter, series } = createTelemetry();
    const bench = await createObservedBench(adapter);
    await bench.leasehold.startJobSequence({ typeName: "hangs" });
    const worker = await bench.clock.runUntil(bench.worker.start({ workerId: "w1" }));
    await bench.clock.advanceBy(50);
    const at = async (metric: string, typeName: string) =>
      (await series(metric)).find(
        ({ attributes }) => "typeName" in attributes && attributes.typeName === typeName,
      );
    const attributes = { typeName: "hangs", workerId: "w1" };
    expect(await at("leasehold.job_type.processing", "hangs")).toEqual({ attributes, value: 1 });
    expect(await at("leasehold.job_type.idle", "hangs")).toEqual({ attributes, value: 0 });
    expect(await at("leasehold.job_type.idle", "quick")).toMatchObject({ value: 1 });
    await bench.clock.runUntil(worker.stop({ deadlineMs: 0 }));
    for (const metric of ["leasehold.job_type.processing", "leasehold.job_type.idle"])
      expect((await series(metric)).every(({ value }) => value === 0)).toBe(true);
  });

  it("measure batches", async () => {
    const { adapter, collect } = createTelemetry();
    const bench = await createObservedBench(adapter);
    await bench.leasehold.startJobSequences({
      sequences: Array.from({ length: 7 }, () => ({ typeName: "quick" as const })),
    });
    await bench.drain(bench.worker, { concurrency: 10 });
    const metrics = await collect();
    const sums = ["leasehold.claim.batch_size", "leasehold.commit.batch_size"].map((name) => {
      const [point] = metrics.get(name)!.dataPoints as unknown as [{ value: { sum: number; max: number } }];
      return [point.value.sum, point.value.max];
    });
    expect(sums).toEqual([
      [7, 7],
      [7, 7],
    ]);
  });

  it("take another prefix", async () => {
    const { adapter, collect } = createTelemetry({ metricPrefix: "acme.jobs" });
    await stories["everyday"]!(adapter);
    const names = [...(await collect()).keys()];
    expect(names).toContain("acme.jobs.job.created");
    expect(names.every((name) => name.startsWith("acme.jobs."))).toBe(true);
  });

  it("of the messaging conventions come beside them when asked for", async () => {
    const { adapter, collect, series } = createTelemetry({ messagingMetrics: true });
    await stories["everyday"]!(adapter);
    const names = [...(await collect()).keys()].filter((name) => name.startsWith("messaging."));
    expect(names.toSorted()).toEqual([
      "messaging.client.consumed.messages",
      "messaging.client.operation.duration",
      "messaging.client.sent.messages",
      "messaging.process.duration",
    ]);
    const operation = (name: string, type: string, more: object = {}) => ({
      "messaging.system": "leasehold",
      "messaging.operation.name": name,
      "messaging.operation.type": type,
      ...more,
    });
    const queue = { "messaging.destination.name": "default" };
    expect(await series("messaging.client.sent.messages")).toEqual([
      { attributes: operation("start", "send", queue), value: 8 },
    ]);
    expect(await series("messaging.process.duration")).toEqual([
      { attributes: operation("process", "process", queue), value: 9 },
    ]);
    expect((await series("messaging.client.operation.duration")).map(({ attributes }) => attributes)).toEqual(
      expect.arrayContaining([
        operation("start", "send"),
        operation("continue", "send"),
        operation("claim", "receive"),
        operation("commit", "settle"),
      ]),
    );
  });
});
