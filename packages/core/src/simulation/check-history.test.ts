import { describe, expect, it } from "vitest";
import type { StateJob } from "../store/contract/job.ts";
import { createdStateJob } from "../store/rules/transitions.ts";
import { checkHistory } from "./check-history.ts";
import type { HistoryEvent } from "./history.ts";
import { drawPlan } from "./plan.ts";

const plan = { ...drawPlan(1), leaseMs: 250, faults: { poison: 1 }, maxAttempts: undefined };

const createRow = (changed: Partial<StateJob>): StateJob => ({
  ...createdStateJob(
    {
      id: "job",
      typeName: "task",
      sequenceId: "job",
      sequenceTypeName: "task",
      sequenceIndex: 0,
      sequenceCreatedAt: null,
      rootSequenceId: "job",
      originId: null,
      traceContext: null,
      input: "null",
      schedule: { afterMs: 0 },
      awaitsBlockers: false,
      deduplication: null,
      queue: "default",
      priority: 0,
      maxAttempts: 2,
      timeoutMs: null,
      leaseMs: null,
      onBlockerFailure: "fail",
      group: null,
      ordered: null,
    },
    0,
  ),
  ...changed,
});

const applied = (
  at: number,
  method: string,
  before: StateJob,
  after: StateJob,
  call: Record<string, unknown> = {},
): HistoryEvent => ({
  kind: "applied",
  at,
  process: "p1.1",
  steps: [{ at, method, call, result: [], changes: [{ before, after }] }],
});

const violationsOf = (invariant: string, events: readonly HistoryEvent[]): readonly string[] =>
  checkHistory(plan, events)
    .filter((violation) => violation.invariant === invariant)
    .map(({ message }) => message);

describe("the check that a poisonous job takes no neighbour along", () => {
  const invariant = "a poisonous job takes no neighbour along";
  /** The last attempt of a healthy job loses its lease at 1,000. */
  const lastLeaseExpires = (): HistoryEvent => {
    const lease = { attempt: 2, leasedBy: "p2.1/w1", leasedUntil: 1_000, leaseToken: "t" } as const;
    const running = createRow({ status: "running", ...lease });
    const failed = { ...running, status: "failed", failureReason: "attempts_exhausted" } as const;
    return applied(1_010, "reapExpiredLeases", running, failed);
  };
  const fault = (at: number, until: number): HistoryEvent => ({
    kind: "fault",
    at,
    until,
    process: "p2.1",
    description: "waited for another transaction",
  });

  it("reports a healthy job that failed for it", () => {
    const found = violationsOf(invariant, [lastLeaseExpires()]);
    expect(found).toEqual(["job did nothing wrong and failed after 2 attempts"]);
  });

  it("excuses a short lease whose renewals waited for other transactions", () => {
    expect(violationsOf(invariant, [fault(700, 990), lastLeaseExpires()])).toEqual([]);
  });

  it("does not excuse a process that waited and then died", () => {
    const events = [fault(700, 800), fault(900, Infinity), lastLeaseExpires()];
    expect(violationsOf(invariant, events)).toHaveLength(1);
  });
});

describe("the check that jobs expire only before their first attempt", () => {
  const invariant = "a job expires only before its first attempt, and not too early";
  const expiry = (secondToken: string): HistoryEvent[] => {
    const pending = createRow({ expireAfterMs: 500 });
    const claim = (before: StateJob, token: string, at: number): StateJob => ({
      ...before,
      status: "running",
      attempt: before.attempt + 1,
      leaseVersion: before.leaseVersion + 1,
      leaseToken: token,
      leasedBy: "p1.1/w1",
      leasedUntil: at + 250,
      lastAttemptAt: at,
      scheduledAt: before.status === "running" ? before.leasedUntil! : before.scheduledAt,
    });
    const first = claim(pending, "a", 600);
    const second = claim(first, secondToken, 1_000);
    const failed = { ...second, status: "failed", failureReason: "expired" } as const;
    return [
      applied(600, "claimJobs", pending, first, { leaseToken: "a", requests: [], limit: 1 }),
      applied(1_000, "claimJobs", first, second, { leaseToken: secondToken, requests: [], limit: 1 }),
      applied(1_010, "commitOutcomes", second, failed, { outcomes: [] }),
    ];
  };

  it("reports one at its second attempt", () => {
    expect(violationsOf(invariant, expiry("b"))[0]).toBe(
      "commitOutcomes let job expire although it had begun (attempt 2)",
    );
  });

  it("goes by the claim that was answered when the one that it repeated arrives after it", () => {
    expect(violationsOf(invariant, expiry("a"))).toEqual([]);
  });
});
