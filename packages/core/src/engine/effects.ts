import type { Notifier } from "./notifier.ts";
import { type Observe, observeNothing } from "./observe.ts";

/**
 * What a transaction wants the world to know once it has committed: hints and events. They are buffered while it runs
 * and dropped with it on rollback.
 */
export interface Effects {
  jobScheduled(typeName: string): void;
  sequenceFinished(sequenceId: string): void;
  ownershipLost(jobId: string): void;
  readonly observe: Observe;
  /** Appends these effects to those of an outer scope, which then decides about them. */
  moveTo(outer: Effects): void;
  /** Sends everything, once. */
  release(): void;
  /** Reports the events alone: the hints cannot be sent because nobody knows when the transaction commits. */
  releaseEvents(): void;
  readonly hasHints: boolean;
}

export const createEffects = (notifier: Notifier, observe: Observe): Effects => {
  const scheduled = new Map<string, number>();
  const finished = new Set<string>();
  const lost = new Set<string>();
  let events: ((observe: Observe) => void)[] = [];

  const releaseEvents = (): void => {
    const due = events;
    events = [];
    for (const event of due) event(observe);
  };

  return {
    jobScheduled: (typeName) => {
      scheduled.set(typeName, (scheduled.get(typeName) ?? 0) + 1);
    },
    sequenceFinished: (sequenceId) => {
      finished.add(sequenceId);
    },
    ownershipLost: (jobId) => {
      lost.add(jobId);
    },
    observe:
      observe === observeNothing
        ? observeNothing
        : (name, data) => {
            events.push((report) => report(name, data));
          },
    moveTo: (outer) => {
      for (const [typeName, count] of scheduled) for (let i = 0; i < count; i++) outer.jobScheduled(typeName);
      for (const sequenceId of finished) outer.sequenceFinished(sequenceId);
      for (const jobId of lost) outer.ownershipLost(jobId);
      for (const event of events) event(outer.observe);
    },
    release: () => {
      releaseEvents();
      notifier.send({ scheduled, finished, lost });
    },
    releaseEvents,
    get hasHints() {
      return scheduled.size + finished.size + lost.size > 0;
    },
  };
};
