import type { Histogram, Meter } from "@opentelemetry/api";
import type { JobEventData, LeaseholdEvents, ObservabilityAdapter } from "leasehold/adapter";
import { createJobSeries, createSeriesTable } from "./series.ts";

// From a millisecond to a day: jobs run for milliseconds, and sequences wait for people.
const durationBoundaries = [
  1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
  86_400_000,
];

const sizeBoundaries = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

export const createHistograms = (meter: Meter, prefix: string): ObservabilityAdapter => {
  const create = (name: string, unit: string, boundaries: number[], description: string): Histogram =>
    meter.createHistogram(`${prefix}.${name}`, {
      unit,
      description,
      advice: { explicitBucketBoundaries: boundaries },
    });
  const duration = (name: string, description: string): Histogram =>
    create(name, "ms", durationBoundaries, description);
  const size = (name: string, description: string): Histogram =>
    create(name, "{job}", sizeBoundaries, description);

  const jobDuration = duration("job.duration", "From the creation of a job to its completion");
  const sequenceDuration = duration(
    "job_sequence.duration",
    "From the creation of a sequence to its completion",
  );
  const attemptDuration = duration("job.attempt.duration", "How long the handler took");
  const timeInQueue = duration("job.time_in_queue", "From when a job could run to when it was claimed");
  const lateness = duration(
    "recurring_job.lateness",
    "From when a run of a recurring job was planned to when it was started",
  );
  const claimSize = size("claim.batch_size", "Jobs that one claim brought; 0 when there was nothing to do");
  const commitSize = size("commit.batch_size", "Outcomes that were written together");
  const claimDuration = duration("claim.duration", "How long the store took to answer a claim");
  const commitDuration = duration("commit.duration", "How long the store took to write outcomes");

  const jobs = createJobSeries();
  const sequences = createSeriesTable((typeName) => ({ typeName }));
  const byJob =
    (histogram: Histogram) =>
    ({ queue, typeName, durationMs }: JobEventData & { durationMs: number }): void =>
      histogram.record(durationMs, jobs.get(queue, typeName).attributes);

  return {
    jobDuration: byJob(jobDuration),
    jobAttemptDuration: byJob(attemptDuration),
    jobTimeInQueue: byJob(timeInQueue),
    jobSequenceDuration: ({ sequenceTypeName, durationMs }) =>
      sequenceDuration.record(durationMs, sequences.get(sequenceTypeName, "").attributes),
    recurringJobTicked: ({ queue, typeName, result, latenessMs, triggered }) => {
      const isRun = result === "started" || result === "caught_up";
      if (isRun && !triggered) lateness.record(latenessMs, jobs.get(queue, typeName).attributes);
    },
    claimBatch: ({ claimed, durationMs }: LeaseholdEvents["claimBatch"]) => {
      claimSize.record(claimed);
      claimDuration.record(durationMs);
    },
    commitBatch: ({ size, durationMs }: LeaseholdEvents["commitBatch"]) => {
      commitSize.record(size);
      commitDuration.record(durationMs);
    },
  };
};
