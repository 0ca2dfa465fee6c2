import type { FailureCause } from "leasehold";
import { actionQueue, type AnyStateAdapter } from "leasehold/adapter";
import type { AnyLeasehold } from "../http/leasehold.ts";

const isShown = ({ queue }: { readonly queue: string }): boolean => queue !== actionQueue;

const withoutActions = (cause: FailureCause): FailureCause[] => {
  const jobs = cause.jobs.filter(isShown);
  if (jobs.length === cause.jobs.length) return [cause];
  return jobs.length === 0
    ? []
    : [{ ...cause, jobs, count: jobs.reduce((sum, { count }) => sum + count, 0) }];
};

/** Core leaves actions out of lists and counts. This removes them from statistics and causes, too. */
export const hideActions = (leasehold: AnyLeasehold): AnyLeasehold => ({
  ...leasehold,
  history: {
    ...leasehold.history,
    getStatistics: async (options: never) => (await leasehold.history.getStatistics(options)).filter(isShown),
    listCauses: async (options) => {
      const listing = await leasehold.history.listCauses(options);
      return { ...listing, causes: listing.causes.flatMap(withoutActions) };
    },
  },
});

/** The same for what the checks and the backlog read of the store. */
export const hideStoredActions = (stateAdapter: AnyStateAdapter): AnyStateAdapter => {
  const { statistics } = stateAdapter;
  return {
    ...stateAdapter,
    listJobs: async (call) => {
      const page = await stateAdapter.listJobs(call);
      return { ...page, jobs: page.jobs.filter(isShown) };
    },
    statistics: statistics && {
      ...statistics,
      measureBacklog: async (call) => (await statistics.measureBacklog(call)).filter(isShown),
      listRecentlyFinished: async (call) => (await statistics.listRecentlyFinished(call)).filter(isShown),
    },
  };
};
