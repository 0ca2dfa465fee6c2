import type { LeaseholdEventName, LeaseholdEvents } from "../contracts/events.ts";
import type { Notifier } from "./notifier.ts";
import { isObserved, type Observe } from "./observe.ts";

/**
 * What a transaction wants the world to know once it has committed: hints and events. They are buffered while it runs
 * and dropped with it on rollback.
 */
export interface AfterCommit {
  jobScheduled(typeName: string): void;
  sequenceFinished(sequenceId: string): void;
  ownershipLost(jobId: string): void;
  readonly observe: Observe;
  /** Moves everything to an outer scope, which then decides about it. */
  moveTo(outer: AfterCommit): void;
  /** Sends everything, once. */
  publish(): void;
  /** Reports the events alone: the hints cannot be sent because nobody knows when the transaction commits. */
  publishEvents(): void;
  readonly hasNotifications: boolean;
}

interface BufferedEvent {
  readonly name: LeaseholdEventName;
  readonly data: () => LeaseholdEvents[LeaseholdEventName];
}

/** With `committed` there is nothing to wait for: events are reported at once, and only hints are gathered. */
export const createAfterCommit = (
  notifier: Notifier,
  observe: Observe,
  { committed = false }: { readonly committed?: boolean } = {},
): AfterCommit => {
  const scheduled = new Map<string, number>();
  const finished: string[] = [];
  const lost: string[] = [];
  let events: BufferedEvent[] = [];

  const reportTo = (report: Observe): void => {
    const due = events;
    events = [];
    for (const { name, data } of due) report(name, data as () => never);
  };

  return {
    jobScheduled: (typeName) => {
      scheduled.set(typeName, (scheduled.get(typeName) ?? 0) + 1);
    },
    sequenceFinished: (sequenceId) => {
      finished.push(sequenceId);
    },
    ownershipLost: (jobId) => {
      lost.push(jobId);
    },
    observe:
      committed || !isObserved(observe)
        ? observe
        : (name, data) => {
            events.push({ name, data });
          },
    moveTo: (outer) => {
      for (const [typeName, count] of scheduled) for (let i = 0; i < count; i++) outer.jobScheduled(typeName);
      for (const sequenceId of finished) outer.sequenceFinished(sequenceId);
      for (const jobId of lost) outer.ownershipLost(jobId);
      reportTo(outer.observe);
    },
    publish: () => {
      reportTo(observe);
      notifier.send({ scheduled, finished, lost });
    },
    publishEvents: () => reportTo(observe),
    get hasNotifications() {
      return scheduled.size + finished.length + lost.length > 0;
    },
  };
};
