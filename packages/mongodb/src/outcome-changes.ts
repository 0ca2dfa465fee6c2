import type { JobOutcome } from "leasehold/adapter";
import type { Document } from "mongodb";
import { scheduledExpression } from "./runnable.ts";

// The rules of the transitions once more, for the server: what an outcome makes of a running job that it knows nothing else of.

const pendingAgain = (scheduledAt: unknown): Document => ({
  status: "pending",
  scheduledAt,
  dueAt: scheduledAt,
});

const ended = (now: unknown): Document => ({ dueAt: null, live: false, finishedAt: now });

const changesBy = (outcome: JobOutcome, now: unknown): Document => {
  switch (outcome.kind) {
    case "complete":
      return {
        ...ended(now),
        status: "completed",
        output: { $literal: outcome.output },
        completedAt: now,
        completedBy: { $literal: outcome.completedBy },
      };
    case "retry":
      return {
        ...pendingAgain(scheduledExpression(outcome.schedule, now)),
        expiredLeases: { $literal: 0 },
        lastError: { $literal: outcome.error },
        lastFailedAt: now,
      };
    case "giveBack":
      return {
        ...pendingAgain(
          outcome.schedule === null ? "$scheduledAt" : scheduledExpression(outcome.schedule, now),
        ),
        attempt: { $subtract: ["$attempt", 1] },
        ...(outcome.error === null ? {} : { lastError: { $literal: outcome.error } }),
      };
    case "fail":
      return {
        ...ended(now),
        status: "failed",
        failedAt: now,
        failureReason: { $literal: outcome.reason },
        expiredLeases: { $literal: 0 },
        lastError: { $literal: outcome.error },
        lastFailedAt: now,
      };
  }
};

/** The job keeps its token, so that the same outcome again is recognised. */
export const outcomeChanges = (outcome: JobOutcome, now: unknown): Document => ({
  ...changesBy(outcome, now),
  leasedBy: null,
  leasedUntil: null,
});
