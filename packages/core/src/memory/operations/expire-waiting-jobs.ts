import type { ExpireCall, ExpiredJob } from "../../store/contract/edits.ts";
import { expired } from "../../store/rules/transitions.ts";
import { failDependants } from "../dependants.ts";
import type { JobStore } from "../job-store.ts";

export const expireWaitingJobs = (
  store: JobStore,
  { limit, error }: ExpireCall,
  now: number,
): ExpiredJob[] => {
  const jobs: ExpiredJob[] = [];
  while (jobs.length < limit) {
    const record = store.expiry.takeExpired(now);
    if (record === undefined) break;
    store.update(record, expired(record.row, error, now));
    jobs.push({ job: record.row, cascaded: failDependants(store, record.row.sequenceId, now) });
  }
  return jobs;
};
