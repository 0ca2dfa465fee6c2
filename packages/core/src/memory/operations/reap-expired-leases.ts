import type { ReapCall, ReapedJob } from "../../store/contract/claims.ts";
import { failDependants } from "../dependants.ts";
import { recordAttempt } from "../job-history.ts";
import type { JobStore } from "../job-store.ts";
import { expiredAttempt } from "../../store/rules/transitions.ts";
import { reaped } from "../../store/rules/transitions.ts";
import { stopGroup } from "./resume-group.ts";

export const reapExpiredLeases = (store: JobStore, call: ReapCall, now: number): ReapedJob[] => {
  const jobs: ReapedJob[] = [];
  while (jobs.length < call.limit) {
    const record = store.runnable.takeExpired(now);
    if (record === undefined) break;
    const previouslyLeasedBy = record.row.leasedBy;
    const attempt = expiredAttempt(record.row, call);
    store.update(record, reaped(record.row, call, now));
    recordAttempt(store, record, attempt);
    const { row } = record;
    if (row.status === "failed") stopGroup(store, row);
    const cascaded = row.status === "failed" ? failDependants(store, row.sequenceId, now) : [];
    jobs.push({ job: row, previouslyLeasedBy, cascaded });
  }
  return jobs;
};
