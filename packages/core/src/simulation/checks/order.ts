import type { ClaimRequest } from "../../store/contract/claims.ts";
import type { JobOutcome } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { remainingLimits } from "../../store/rules/checks.ts";
import { type Check, short } from "./check.ts";

/** When a job counts as due. */
const dueAt = (row: StateJob): number => (row.status === "running" ? row.leasedUntil! : row.scheduledAt);

/** Whether `a` has to be claimed before `b`, as far as the rows tell. */
const goesFirst = (a: StateJob, b: StateJob): boolean =>
  a.priority !== b.priority ? a.priority > b.priority : dueAt(a) < dueAt(b);

/** Overlapping batches wait for each other instead of deadlocking only if all are written in one order. */
export const batchesAreSorted: Check = {
  invariant: "outcomes are written in the order of their ids",
  watch: ({ report }) => ({
    onStep: ({ method, call }) => {
      if (method !== "commitOutcomes") return;
      const ids = (call["outcomes"] as readonly JobOutcome[]).map(({ jobId }) => jobId);
      if (ids.some((id, index) => index > 0 && id < ids[index - 1]!))
        report(`a batch of ${ids.length} is out of order`);
    },
  }),
};

/** `addJobBlockers` belongs to the start: what turns out to wait for nothing is there since then. */
export const placesAreNotInThePast: Check = {
  invariant: "a job's place in line is from when it became runnable",
  watch: ({ report }) => ({
    onStep: ({ at, method, changes }) => {
      if (method === "addJobBlockers") return;
      for (const { before, after } of changes) {
        if (after?.status !== "pending" || before?.status === "pending" || before?.status === "running")
          continue;
        if (after.scheduledAt < at)
          report(`${short(after.id)} became runnable and stands ${at - after.scheduledAt} ms further ahead`);
      }
    },
  }),
};

export const claimsFollowOrder: Check = {
  invariant: "claims follow priority and time",
  watch: ({ table, flow, report }) => ({
    onStep: ({ at, method, call, changes }) => {
      if (method !== "claimJobs" || changes.length === 0) return;
      const claimed = changes.flatMap(({ before, after }) => (before && after ? [before] : []));
      const changedIds = new Set(claimed.map(({ id }) => id));
      const open = new Set(claimed.toSorted((a, b) => (goesFirst(a, b) ? -1 : Number(goesFirst(b, a)))));
      const requests = call["requests"] as readonly ClaimRequest[];
      // A repeated claim first returns what an earlier one with its token has claimed.
      const isHeld = ({ id, status, leaseToken }: StateJob): boolean =>
        status === "running" && leaseToken === call["leaseToken"] && !changedIds.has(id);
      const held = call["isRepeat"] === true ? [...table.rows.values()].filter(isHeld) : [];
      const limits = remainingLimits(requests, held);
      for (const [index, { queue, typeNames }] of requests.entries()) {
        const limit = limits[index]!;
        const covers = (row: StateJob): boolean =>
          row.queue === queue && (typeNames === null || typeNames.includes(row.typeName));
        // Requests may overlap. A job belongs to the first one that had room for it.
        const taken = [...open].filter(covers).slice(0, limit);
        for (const row of taken) open.delete(row);
        if (taken.length === 0 || flow.isConcerned(queue)) continue;
        for (const row of table.rows.values()) {
          if (changedIds.has(row.id) || row.status !== "pending" || row.scheduledAt > at || !covers(row))
            continue;
          const worse = taken.find((other) => goesFirst(row, other));
          if (worse) report(`${short(worse.id)} was claimed before ${short(row.id)}, which comes first`);
        }
      }
    },
  }),
};
