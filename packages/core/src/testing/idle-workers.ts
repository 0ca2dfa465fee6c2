import type { Clock } from "../base/runtime.ts";
import type { ClaimCall, ClaimRequest, MaxAttempts } from "../store/contract/claims.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import type { RunningWorker } from "../worker/api.ts";

/** What the workers of a kit have claimed so far: their queues and types, by worker. */
export interface ClaimWatch<TStateAdapter extends AnyStateAdapter> {
  readonly stateAdapter: TStateAdapter;
  /** Undefined before the first claim. */
  claimsOf(workerId: string): WorkerClaims | undefined;
  /** The requests of all workers. */
  allRequests(): readonly ClaimRequest[];
}

interface WorkerClaims {
  readonly requests: Map<string, ClaimRequest>;
  readonly maxAttempts: MaxAttempts | undefined;
}

/** The same store, with a record of the claims of each worker. */
export const watchClaims = <TStateAdapter extends AnyStateAdapter>(
  adapter: TStateAdapter,
): ClaimWatch<TStateAdapter> => {
  const byWorker = new Map<string, WorkerClaims>();
  const record = ({ workerId, requests: added, maxAttempts }: ClaimCall): void => {
    // A claim leaves out queues without room. All claims together have every queue of the worker.
    const requests = byWorker.get(workerId)?.requests ?? new Map<string, ClaimRequest>();
    for (const request of added) requests.set(JSON.stringify([request.queue, request.typeNames]), request);
    byWorker.set(workerId, { requests, maxAttempts });
  };
  const stateAdapter = wrapAdapter(adapter, (method, original) =>
    method === "claimJobs"
      ? (call) => {
          record(call as ClaimCall);
          return original(call);
        }
      : original,
  );
  return {
    stateAdapter,
    claimsOf: (workerId) => byWorker.get(workerId),
    allRequests: () => [...byWorker.values()].flatMap(({ requests }) => [...requests.values()]),
  };
};

const isServed = ({ queue, typeName }: StateJob, requests: readonly ClaimRequest[]): boolean =>
  requests.some((request) => request.queue === queue && (request.typeNames?.includes(typeName) ?? true));

const pageSize = 1_000;

/** The jobs in one of these states that the requests are for, oldest first. */
const listServed = async (
  store: AnyStateAdapter,
  status: "pending" | "running",
  requests: readonly ClaimRequest[],
): Promise<StateJob[]> => {
  const found: StateJob[] = [];
  let after = null;
  do {
    const { jobs, next }: Awaited<ReturnType<AnyStateAdapter["listJobs"]>> = await store.listJobs({
      filter: { statuses: [status] },
      order: "oldest",
      limit: pageSize,
      after,
    });
    found.push(...jobs.filter((job) => isServed(job, requests)));
    after = next;
  } while (after !== null);
  return found;
};

/** Whether the store has nothing left for these workers: none of their jobs runs, and none could be claimed now. */
export const isIdleFor = async (
  workers: readonly RunningWorker[],
  { claimsOf }: ClaimWatch<AnyStateAdapter>,
  store: AnyStateAdapter,
  clock: Clock,
): Promise<boolean> => {
  for (const { workerId } of workers) {
    const claims = claimsOf(workerId);
    if (claims === undefined) return false;
    const requests = [...claims.requests.values()];
    const { maxAttempts } = claims;
    if ((await store.nextRunnableIn({ requests, maxAttempts, now: clock.now() })) === 0) return false;
    if ((await listServed(store, "running", requests)).length > 0) return false;
  }
  return true;
};

const mostDescribed = 5;

const describeJobs = (state: string, jobs: readonly StateJob[]): string => {
  if (jobs.length === 0) return "";
  const named = jobs
    .slice(0, mostDescribed)
    .map(({ id, typeName, attempt }) => `${typeName} ${id} (attempt ${attempt})`);
  const more = jobs.length > mostDescribed ? ` and ${jobs.length - mostDescribed} more` : "";
  return ` Still ${state}: ${named.join(", ")}${more}.`;
};

/** Names the jobs that keep workers from being idle. */
export const describeUnfinished = async (
  { allRequests }: ClaimWatch<AnyStateAdapter>,
  store: AnyStateAdapter,
  clock: Clock,
): Promise<string> => {
  const running = await listServed(store, "running", allRequests());
  const pending = await listServed(store, "pending", allRequests());
  const due = pending.filter(({ scheduledAt }) => scheduledAt <= clock.now());
  return describeJobs("running", running) + describeJobs("waiting", due);
};
