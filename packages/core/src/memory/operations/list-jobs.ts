import type { JobPage, ListBlockedJobsCall, ListJobsCall } from "../../store/contract/reads.ts";
import { filtered } from "../job-filter.ts";
import { toPage } from "../page.ts";
import type { StoreView } from "../store-view.ts";

export const listJobs = (view: StoreView, call: ListJobsCall): JobPage =>
  toPage(filtered(view, call.filter), call.order, call);

export const listBlockedJobs = (view: StoreView, call: ListBlockedJobsCall): JobPage =>
  toPage(view.dependants(call.sequenceId), "oldest", call);
