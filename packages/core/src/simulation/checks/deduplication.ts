import type { CreatedStateJob, NewJob, NewJobDeduplication } from "../../store/contract/creation.ts";
import { isTerminal, type StateJob } from "../../store/contract/job.ts";
import { isWaiting } from "../../store/rules/edits.ts";
import { type Check, short } from "./check.ts";

export const duplicatesAreRefused: Check = {
  invariant: "10 at most one live sequence per deduplication key",
  watch: ({ table, report }) => {
    const isLive = (sequenceId: string): boolean => {
      const current = table.current(sequenceId);
      return current !== undefined && !isTerminal(current.status);
    };

    const isInScope = (first: StateJob, scope: NewJobDeduplication["scope"]): boolean => {
      if (scope === "all") return true;
      return scope === "pending" ? isWaiting(first.status) : isLive(first.sequenceId);
    };

    const others = ({ sequenceId, sequenceTypeName, deduplicationKey }: StateJob): StateJob[] =>
      [...table.rows.values()].filter(
        (row) =>
          row.sequenceIndex === 0 &&
          row.sequenceId !== sequenceId &&
          row.sequenceTypeName === sequenceTypeName &&
          row.deduplicationKey === deduplicationKey,
      );

    const checkCreation = (
      job: NewJob,
      { job: stored, deduplicated }: CreatedStateJob,
      at: number,
      earlier: ReadonlySet<string>,
    ): void => {
      if (!job.deduplication || deduplicated || stored.id !== job.id) return;
      const { scope, windowMs, key } = job.deduplication;
      const duplicate = others(stored).find(
        (other) =>
          !earlier.has(other.id) &&
          isInScope(other, scope) &&
          (windowMs === null || other.createdAt > at - windowMs),
      );
      if (duplicate)
        report(`${short(stored.id)} was created although ${short(duplicate.id)} has its key ${key}`);
    };

    return {
      onStep: ({ at, method, call, result, changes }) => {
        if (method === "createJobs") {
          const jobs = call["jobs"] as readonly NewJob[];
          // Of one call, each sees those before it.
          const later = new Set(jobs.map(({ id }) => id));
          for (const [index, job] of jobs.entries()) {
            checkCreation(job, (result as CreatedStateJob[])[index]!, at, later);
            later.delete(job.id);
          }
        }
        if (method === "redriveJobs") {
          for (const { before, after } of changes) {
            const first = after && table.rows.get(after.sequenceId);
            if (
              before?.status !== "failed" ||
              after?.status === "failed" ||
              !first ||
              first.deduplicationKey === null
            )
              continue;
            if (others(first).some((other) => isLive(other.sequenceId)))
              report(`${short(first.id)} was redriven beside a live duplicate`);
          }
        }
      },
    };
  },
};
