// The jobs of this story. Each leaves a row in the same transaction, so that the rows show what really happened.
import { setTimeout as sleep } from "node:timers/promises";
import { createLeasehold, defineUnionJobTypes } from "leasehold";

// Far more faults than a real cluster has: this looks for lost jobs, not for jobs that use up their attempts.
const maxAttempts = 1_000;
const slowMs = 3_000;

export const openLeasehold = ({ stateAdapter, notifyAdapter }, log) =>
  createLeasehold({
    stateAdapter,
    notifyAdapter,
    jobTypes: defineUnionJobTypes(),
    defaults: { maxAttempts },
    log,
  });

/** A worker for all types. `write` writes in a transaction of the driver. */
export const implementJobs = (leasehold, write) => {
  const leaveRow = (ctx, job) =>
    write(ctx, "INSERT INTO effect (job_id, attempt) VALUES ($1, $2)", [job.id, job.attempt]);
  const transactional =
    (next) =>
    ({ job, complete }) =>
      complete(async ({ continueWith, ...ctx }) => {
        await leaveRow(ctx, job);
        return next === undefined
          ? job.attempt
          : continueWith({ typeName: next, input: null, queue: job.queue });
      });
  return leasehold
    .createWorker()
    .implementJobType({ typeName: "plain", process: async ({ job }) => job.attempt })
    .implementJobType({ typeName: "write", process: transactional() })
    .implementJobType({ typeName: "first", process: transactional("second") })
    .implementJobType({ typeName: "second", process: transactional("third") })
    .implementJobType({ typeName: "third", process: transactional() })
    .implementJobType({ typeName: "join", process: transactional() })
    .implementJobType({
      typeName: "slow",
      process: async (handler) => {
        await sleep(slowMs, undefined, { signal: handler.signal });
        return transactional()(handler);
      },
    });
};

/** How many jobs each kind of start leads to. */
export const jobsOf = { plain: 1, write: 1, order: 1, chain: 3, join: 3, slow: 1 };

/** One start of each kind. Resolves with the id of the job when the start has been acknowledged. */
export const createStarts = (leasehold, write) => {
  const start = async (typeName, queue, more) =>
    (await leasehold.startJobSequence({ typeName, input: null, queue, ...more })).id;
  return {
    plain: (queue) => start("plain", queue),
    write: (queue) => start("write", queue),
    chain: (queue) => start("first", queue),
    slow: (queue) => start("slow", queue),
    join: (queue) =>
      start("join", queue, {
        startBlockers: async () => [
          await leasehold.startJobSequence({ typeName: "plain", input: null, queue }),
          await leasehold.startJobSequence({ typeName: "write", input: null, queue }),
        ],
      }),
    order: (queue) =>
      leasehold.runInTransaction(async (ctx) => {
        const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "write", input: null, queue });
        await write(ctx, "INSERT INTO orders (job_id) VALUES ($1)", [id]);
        return id;
      }),
  };
};
