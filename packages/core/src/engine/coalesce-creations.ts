import type { Clock } from "../clock.ts";
import type { CreatedStateJob, NewJob } from "../contracts/state-adapter.ts";
import type { StateStore } from "./dispatch.ts";

interface Creation {
  readonly jobs: readonly NewJob[];
  readonly resolve: (created: CreatedStateJob[]) => void;
  readonly reject: (error: unknown) => void;
}

const mostJobsTogether = 1_000;
const mostJobsToJoin = 100;

/**
 * A store whose concurrent creations share calls: while one call is under way the others wait, and the next call takes
 * them all. Each caller still waits for the commit of its own jobs, and a job that cannot be stored fails alone.
 *
 * Calls inside a transaction are passed on as they are. So are jobs with a deduplication key, since they may have to wait
 * for each other.
 */
export const coalesceCreations = (store: StateStore, clock: Clock): StateStore => {
  let waiting: Creation[] = [];
  let sending = false;

  const sendAlone = async ({ jobs, resolve, reject }: Creation): Promise<void> => {
    try {
      resolve(await store.createJobs({ jobs }));
    } catch (error) {
      reject(error);
    }
  };

  const sendTogether = async (creations: readonly Creation[]): Promise<void> => {
    const jobs = creations.flatMap((creation) => creation.jobs);
    let created: CreatedStateJob[];
    try {
      created = await store.createJobs({ jobs });
    } catch (error) {
      if (store.isTransientError(error)) for (const { reject } of creations) reject(error);
      // Nothing was stored, because one of them was refused. Sent one by one, only that one fails.
      else await Promise.all(creations.map(sendAlone));
      return;
    }
    let next = 0;
    for (const { jobs: own, resolve } of creations) {
      resolve(created.slice(next, next + own.length));
      next += own.length;
    }
  };

  const takeBatch = (): Creation[] => {
    let count = 0;
    const end = waiting.findIndex(({ jobs }) => (count += jobs.length) > mostJobsTogether);
    return waiting.splice(0, end < 0 ? waiting.length : Math.max(end, 1));
  };

  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = takeBatch();
      const isShared = batch.length > 1;
      await (isShared ? sendTogether(batch) : sendAlone(batch[0]!));
      // Those who were waiting for this batch may want to start more: let them join the next.
      if (isShared) await new Promise<void>((resolve) => clock.soon(resolve));
    }
    sending = false;
  };

  const createJobs: StateStore["createJobs"] = (call) => {
    const { jobs, ctx, now } = call;
    const isAlone =
      ctx !== undefined ||
      now !== undefined ||
      jobs.length === 0 ||
      jobs.length > mostJobsToJoin ||
      jobs.some(({ deduplication }) => deduplication !== null);
    if (isAlone) return store.createJobs(call);
    return new Promise((resolve, reject) => {
      waiting.push({ jobs, resolve, reject });
      if (sending) return;
      sending = true;
      void sendAll();
    });
  };

  return { ...store, createJobs };
};
