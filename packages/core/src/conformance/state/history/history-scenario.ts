import assert from "node:assert/strict";
import { requirePart } from "../../../store/parts.ts";
import type { History } from "../../../store/contract/history.ts";
import type {
  AttemptNote,
  AttemptOutcome,
  FailedJobs,
  StateAttempt,
} from "../../../store/contract/history.ts";
import type { JobOutcome } from "../../../store/contract/outcomes.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { type Ending, outcomeOf, type StateScenario } from "../../state-scenario.ts";

/** The words of the jobs suites, and those for what has happened. */
export interface HistoryScenario extends StateScenario {
  readonly history: History<object>;
  attempts(job: { readonly id: string }): Promise<StateAttempt[]>;
  /** The failed jobs of the scenario's queue by what they failed from. */
  causes(): Promise<FailedJobs[]>;
  /** The ids of the scenario's jobs with this fingerprint. */
  withFingerprint(fingerprint: string): Promise<string[]>;
}

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const fingerprint = "0123456789abcdef";

/** What core would say of an attempt that is running. */
const noteOf = (job: StateJob, overrides: Partial<AttemptNote> = {}): AttemptNote => ({
  attempt: job.attempt,
  leaseVersion: job.leaseVersion,
  workerId: job.leasedBy ?? "nobody",
  deployment: "1.4.2",
  dueAt: job.scheduledAt,
  startedAt: job.lastAttemptAt ?? baseTime,
  fingerprint,
  error: '{"message":"broken"}',
  log: '[["info","began"]]',
  ...overrides,
});

export const withNote = <TEnding extends Ending>(
  ending: TEnding,
  job: StateJob,
  overrides: Partial<AttemptNote> = {},
): TEnding => ({ ...ending, note: noteOf(job, overrides) });

/** An outcome with a note of the attempt that `job` shows. */
export const notedOutcome = (
  job: StateJob,
  ending: Ending,
  overrides: Partial<AttemptNote> = {},
): JobOutcome => outcomeOf(job, withNote(ending, job, overrides));

/** The row that an outcome with a note of this job leaves. */
export const endedAttempt = (
  job: StateJob,
  outcome: AttemptOutcome,
  overrides: Partial<StateAttempt> = {},
): StateAttempt => ({ ...noteOf(job), jobId: job.id, outcome, endedAt: baseTime, ...overrides });

/** The row that the end of its lease leaves of a running job. */
export const lostAttempt = (job: StateJob, overrides: Partial<StateAttempt> = {}): StateAttempt => {
  assert.ok(job.leasedUntil);
  return interruptedAttempt(job, "expired", { endedAt: job.leasedUntil, ...overrides });
};

/** The row that a call of another caller leaves of a running job. */
export const interruptedAttempt = (
  job: StateJob,
  outcome: AttemptOutcome,
  overrides: Partial<StateAttempt> = {},
): StateAttempt => {
  const unknown = { deployment: job.deployment, fingerprint: null, error: null, log: null };
  return endedAttempt(job, outcome, { ...unknown, ...overrides });
};

export const withHistory =
  (test: (scenario: HistoryScenario) => Promise<void>) =>
  async (scenario: StateScenario): Promise<void> => {
    const { adapter, queue } = scenario;
    const history = requirePart(adapter, "history", "The suite of history") as History<object>;
    await test({
      ...scenario,
      history,
      attempts: async ({ id }) => {
        const [attempts, ...others] = await history.listAttempts({ jobIds: [id] });
        assert.deepEqual(others, []);
        assert.ok(attempts);
        return attempts;
      },
      causes: async () => {
        const { failed, capped } = await history.listCauses({ cap: 1_000, queues: [queue] });
        assert.equal(capped, false);
        return [...failed];
      },
      withFingerprint: async (wanted) => {
        const filter = { queues: [queue], fingerprints: [wanted] };
        const { jobs } = await adapter.listJobs({ filter, order: "oldest", limit: 1_000, after: null });
        const counts = await adapter.countJobs({ filter });
        assert.equal(
          counts.reduce((sum, { count }) => sum + count, 0),
          jobs.length,
        );
        return jobs.map(({ id }) => id);
      },
    });
  };

/** Runs the work in a transaction and has it rolled back. */
export const rollBack = async (
  { adapter }: StateScenario,
  work: (ctx: object) => Promise<void>,
): Promise<void> => {
  const reason = new Error("rolled back on purpose");
  await assert.rejects(
    adapter.runInTransaction(async (ctx) => {
      await work(ctx);
      throw reason;
    }),
    (error) => error === reason,
  );
};
