import {
  type CommitOutcomesCall,
  completed,
  completesSequence,
  failed,
  givenBack,
  type JobOutcome,
  judgeOutcome,
  type OutcomeResult,
  retried,
  type StateJob,
} from "leasehold/adapter";
import { failDependants, unblockDependants } from "../dependants.ts";
import type { Store, StoreCall } from "../store.ts";
import type { Work } from "../work.ts";

const after = (row: StateJob, outcome: JobOutcome, now: number): StateJob => {
  switch (outcome.kind) {
    case "complete":
      return completed(row, outcome, now);
    case "retry":
      return retried(row, outcome, now);
    case "giveBack":
      return givenBack(row, outcome, now);
    case "fail":
      return failed(row, outcome, now);
  }
};

const commitOutcome = async (
  work: Work,
  outcome: JobOutcome,
  blockers: ReadonlySet<string>,
): Promise<OutcomeResult> => {
  const stored = await work.find(outcome.jobId);
  const rejection = judgeOutcome(stored?.row, outcome, work.now);
  if (stored === undefined || rejection !== undefined) return rejection!;
  const { row } = work.save(stored, after(stored.row, outcome, work.now));
  return {
    kind: "applied",
    at: work.now,
    unblocked:
      completesSequence(outcome) && blockers.has(row.sequenceId)
        ? await unblockDependants(work, row.sequenceId)
        : [],
    cascaded: outcome.kind === "fail" && blockers.has(row.sequenceId) ? await failDependants(work, row) : [],
  };
};

export const commitOutcomes = (
  store: Store,
  call: StoreCall & CommitOutcomesCall,
): Promise<OutcomeResult[]> =>
  store.work(call, async (work) => {
    const jobs = await work.findMany(call.outcomes.map(({ jobId }) => jobId));
    const sequenceIds = new Set([...jobs.values()].map(({ row }) => row.sequenceId));
    // Those of the sequences that somebody waits for. Whoever starts to wait for one locks its current job.
    const blockers = new Set(
      (await work.dependants([...sequenceIds])).flatMap(({ blockerIds }) => blockerIds),
    );
    const results: OutcomeResult[] = [];
    for (const outcome of call.outcomes) results.push(await commitOutcome(work, outcome, blockers));
    return results;
  });
