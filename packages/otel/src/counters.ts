import type { Attributes, Meter, Observable } from "@opentelemetry/api";
import type { LeaseholdEventName, LeaseholdEvents, ObservabilityAdapter } from "leasehold/adapter";
import { createJobSeries, createSeriesTable, createTally, type Series } from "./series.ts";

/** Name after the prefix, what is counted, and a sentence about it. */
type Definition = readonly [name: string, unit: string, description: string];

/** The events that come with a job's queue and type; counted by these. */
const jobCounters = {
  jobCreated: ["job.created", "{job}", "Jobs created"],
  jobBlocked: ["job.blocked", "{job}", "Jobs created that have to wait for blockers"],
  jobUnblocked: ["job.unblocked", "{job}", "Blocked jobs whose last blocker completed"],
  jobCompleted: ["job.completed", "{job}", "Jobs completed, by a worker or from outside"],
  jobCancelled: ["job.cancelled", "{job}", "Jobs cancelled"],
  jobRedriven: ["job.redriven", "{job}", "Failed jobs revived by a redrive"],
  jobUpdated: ["job.updated", "{job}", "Waiting jobs changed, by a later start or by an update"],
  jobReaped: ["job.reaped", "{job}", "Jobs taken back from workers that went silent"],
  jobAttemptStarted: ["job.attempt.started", "{attempt}", "Attempts begun"],
  jobAttemptCompleted: ["job.attempt.completed", "{attempt}", "Attempts that completed their job"],
  jobAttemptRescheduled: ["job.attempt.rescheduled", "{attempt}", "Attempts that put their job off"],
  jobAttemptTimedOut: ["job.attempt.timed_out", "{attempt}", "Attempts that took longer than their timeout"],
  jobAttemptTakenByAnotherWorker: [
    "job.attempt.taken_by_another_worker",
    "{attempt}",
    "Attempts whose job another worker had taken over",
  ],
  jobAttemptAlreadyCompleted: [
    "job.attempt.already_completed",
    "{attempt}",
    "Attempts whose job had been completed elsewhere",
  ],
  jobAttemptLeaseExpired: [
    "job.attempt.lease_expired",
    "{attempt}",
    "Attempts that lost their lease by time",
  ],
  jobAttemptLeaseRenewed: ["job.attempt.lease_renewed", "{renewal}", "Leases renewed"],
  jobAttemptStuck: [
    "job.attempt.stuck",
    "{attempt}",
    "Attempts given up on: their handler ignored its signal",
  ],
  jobAttemptLateResult: ["job.attempt.late_result", "{attempt}", "Results dropped: the attempt was over"],
  jobAttemptReleased: [
    "job.attempt.released",
    "{attempt}",
    "Attempts that the store rolled back and that do not count",
  ],
  jobAttemptErrorAfterCompletion: [
    "job.attempt.error_after_completion",
    "{attempt}",
    "Handlers that failed after their job was completed",
  ],
} as const satisfies { readonly [TName in LeaseholdEventName]?: Definition };

/** Counted by the type of the sequence. */
const sequenceCounters = {
  jobSequenceCreated: ["job_sequence.created", "{sequence}", "Sequences started"],
  jobSequenceCompleted: ["job_sequence.completed", "{sequence}", "Sequences completed"],
} as const satisfies { readonly [TName in LeaseholdEventName]?: Definition };

/** Counted by attributes of their own. */
const detailedCounters: {
  readonly [TName in LeaseholdEventName]?: readonly [
    ...definition: Definition,
    attributes: (data: LeaseholdEvents[TName]) => Attributes,
    /** How many it stands for. Default: 1. */
    amount?: (data: LeaseholdEvents[TName]) => number,
  ];
} = {
  workerStarted: ["worker.started", "{worker}", "Workers started", ({ workerId }) => ({ workerId })],
  workerStopping: ["worker.stopping", "{worker}", "Workers asked to stop", ({ workerId }) => ({ workerId })],
  workerStopped: ["worker.stopped", "{worker}", "Workers stopped", ({ workerId }) => ({ workerId })],
  workerError: [
    "worker.error",
    "{error}",
    "Turns of a worker's loops that failed and are made again",
    ({ workerId, loop }) => ({ workerId, loop }),
  ],
  jobFailed: [
    "job.failed",
    "{job}",
    "Jobs that failed for good",
    ({ queue, typeName, reason }) => ({ queue, typeName, reason }),
  ],
  jobDeleted: [
    "job.deleted",
    "{job}",
    "Jobs deleted by hand, and failed ones pruned, by the status they had",
    ({ queue, typeName, status }) => ({ queue, typeName, status }),
  ],
  jobSequenceFailed: [
    "job_sequence.failed",
    "{sequence}",
    "Sequences that failed",
    ({ sequenceTypeName, reason }) => ({ typeName: sequenceTypeName, reason }),
  ],
  jobAttemptFailed: [
    "job.attempt.failed",
    "{attempt}",
    "Attempts that ended in an error",
    ({ queue, typeName, retryInMs }) => ({ queue, typeName, retried: retryInMs !== null }),
  ],
  jobAttemptFenced: [
    "job.attempt.fenced",
    "{attempt}",
    "Outcomes refused because the lease was no longer current",
    ({ queue, typeName, refusal }) => ({ queue, typeName, refusal }),
  ],
  jobAttemptTransactionRepeated: [
    "job.attempt.transaction_repeated",
    "{transaction}",
    "Transactions of handlers that the store rolled back and that were run again",
    ({ queue, typeName, operation }) => ({ queue, typeName, operation }),
  ],
  recurringJobTicked: [
    "recurring_job.ticks",
    "{tick}",
    "Times of recurring jobs, by what became of them",
    ({ queue, typeName, result }) => ({ queue, typeName, result }),
    ({ count }) => count,
  ],
  recurringJobFailed: [
    "recurring_job.failed",
    "{tick}",
    "Tries to start the job of a recurring job that failed",
    ({ queue, typeName }) => ({ queue: queue ?? "", typeName: typeName ?? "" }),
  ],
  storeClockSetBack: [
    "recurring_job.clock_set_back",
    "{recurring_job}",
    "Recurring jobs whose times were computed anew because the store's clock was set back",
    () => ({}),
    ({ recurringJobs }) => recurringJobs,
  ],
  notifyContextAbsence: [
    "notify_adapter.context_absence",
    "{notification}",
    "Notifications not sent because it was not known when the transaction committed",
    ({ operation }) => ({ operation }),
  ],
  notifyAdapterError: [
    "notify_adapter.error",
    "{error}",
    "Calls to the notify adapter that failed",
    ({ operation }) => ({ operation }),
  ],
  stateAdapterError: [
    "state_adapter.error",
    "{error}",
    "Calls to the store that failed, those repeated included",
    ({ operation }) => ({ operation }),
  ],
};

interface Source {
  readonly instrument: Observable;
  readonly all: () => Iterable<Series>;
}

/**
 * Counters and up-down counters. They are asynchronous instruments: an event raises a number in memory, and the SDK
 * fetches the numbers when it collects. What is exported is the same as with synchronous ones, at a fraction of the
 * cost, since those look their series up by all attributes at every event.
 */
export const createCounters = (meter: Meter, prefix: string): ObservabilityAdapter => {
  const sources: Source[] = [];
  const handlers: Record<string, (data: never) => void> = {};

  const count = ([name, unit, description]: Definition, all: Source["all"]): void => {
    const instrument = meter.createObservableCounter(`${prefix}.${name}`, { unit, description });
    sources.push({ instrument, all });
  };

  for (const [event, definition] of Object.entries(jobCounters)) {
    const series = createJobSeries();
    count(definition, series.all);
    handlers[event] = ({ queue, typeName }: { queue: string; typeName: string }) => {
      series.get(queue, typeName).value += 1;
    };
  }
  for (const [event, definition] of Object.entries(sequenceCounters)) {
    const series = createSeriesTable((typeName) => ({ typeName }));
    count(definition, series.all);
    handlers[event] = ({ sequenceTypeName }: { sequenceTypeName: string }) => {
      series.get(sequenceTypeName, "").value += 1;
    };
  }
  for (const [event, definition] of Object.entries(detailedCounters)) {
    const [name, unit, description, attributes, amount] = definition;
    const tally = createTally();
    count([name, unit, description], tally.all);
    handlers[event] = (data) => tally.add(attributes(data), amount?.(data));
  }

  const gauge = (event: "jobTypeIdleChange" | "jobTypeProcessingChange", definition: Definition): void => {
    const [name, unit, description] = definition;
    const series = createSeriesTable((workerId, typeName) => ({ workerId, typeName }));
    const instrument = meter.createObservableUpDownCounter(`${prefix}.${name}`, { unit, description });
    sources.push({ instrument, all: series.all });
    handlers[event] = ({ workerId, typeName, delta }: LeaseholdEvents[typeof event]) => {
      series.get(workerId, typeName).value += delta;
    };
  };
  gauge("jobTypeIdleChange", ["job_type.idle", "{worker}", "Workers with nothing to do for the job type"]);
  gauge("jobTypeProcessingChange", ["job_type.processing", "{job}", "Jobs of the type being processed"]);

  meter.addBatchObservableCallback(
    (result) => {
      for (const { instrument, all } of sources) {
        for (const { value, attributes } of all()) result.observe(instrument, value, attributes);
      }
    },
    sources.map(({ instrument }) => instrument),
  );
  return handlers;
};
