import type { StateJob } from "../../store/contract/job.ts";
import { type Check, type CheckContext, short } from "./check.ts";

const statusesOf = ({ table }: CheckContext, row: StateJob): (string | undefined)[] =>
  (table.blockers.get(row.id) ?? []).map((sequenceId) => table.current(sequenceId)?.status);

export const blockersAreHonoured: Check = {
  invariant: "8 a job runs when its blockers have completed, and is not left stranded",
  watch: (context) => {
    const { table, report } = context;

    /** Another sequence with its deduplication key is alive, so this one may not be. */
    const hasLiveDuplicate = (row: StateJob): boolean => {
      const key = table.rows.get(row.sequenceId)?.deduplicationKey ?? null;
      return (
        key !== null &&
        [...table.rows.values()].some((other) => {
          const current = table.current(other.sequenceId);
          return (
            other.deduplicationKey === key &&
            other.sequenceId !== row.sequenceId &&
            current?.failedAt === null &&
            current.completedAt === null
          );
        })
      );
    };

    const checkRow = (row: StateJob): void => {
      const statuses = statusesOf(context, row);
      const open = statuses.filter((status) => status !== "completed").length;
      const id = short(row.id);
      if ((row.status === "pending" || row.status === "running") && open > 0)
        report(`${id} is ${row.status} with ${open} open blockers`);
      if (row.status === "blocked" && open === 0)
        report(`${id} is left blocked although its blockers have completed`);
      if (row.status === "blocked" && row.onBlockerFailure === "fail" && statuses.includes("failed")) {
        report(`${id} is left blocked although a blocker has failed`);
      }
      if (row.failureReason === "blocker_failed" && !statuses.includes("failed") && !hasLiveDuplicate(row)) {
        report(`${id} is left failed although its blockers have been redriven`);
      }
    };

    return {
      onEvent: (event) => {
        // Renewals and most claims change nothing that this depends on.
        if (
          event.kind !== "applied" ||
          !event.steps.some(({ changes }) =>
            changes.some(({ before, after }) => before?.status !== after?.status),
          )
        )
          return;
        for (const jobId of table.blockers.keys()) {
          const row = table.rows.get(jobId);
          if (row) checkRow(row);
        }
      },
    };
  },
};
