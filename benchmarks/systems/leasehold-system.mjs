// Leasehold on PostgreSQL through `pg`, with its defaults but for the settings given to createLeasehold.
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "../../packages/postgres/dist/index.js";
import { cloneRow } from "./clone-row.mjs";
import { userWrite, userWrites } from "./user-write.mjs";

/** With transactions each handler holds a connection; the worker's own calls need two more, and listening one. */
const ownConnections = 3;

/** @param {{ statistics?: boolean, defaults?: object }} settings */
export const leaseholdSystem = (settings) => {
  const open = async (postgresUrl, max = 10) => {
    const pool = new pg.Pool({ connectionString: postgresUrl, max });
    const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool }),
    });
    const leasehold = await createLeasehold({
      stateAdapter,
      notifyAdapter,
      jobTypes: defineUnionJobTypes(),
      ...settings,
    });
    return leasehold;
  };

  const toSequence = ({ type, input }) => ({ typeName: type, input });

  const install = async ({ postgresUrl }) => {
    await open(postgresUrl);
  };

  const openProducer = async ({ postgresUrl }) => {
    const leasehold = await open(postgresUrl);
    return {
      start: ({ type, input }) => leasehold.startJobSequence({ typeName: type, input }),
      startMany: (jobs) => leasehold.startJobSequences({ sequences: jobs.map(toSequence) }),
    };
  };

  const openWorker = async (
    { postgresUrl, types, observer },
    { concurrency, transactional, callSize, handle },
  ) => {
    const leasehold = await open(postgresUrl, transactional ? concurrency + ownConnections : undefined);
    const worker = leasehold.createWorker();
    const process = transactional
      ? ({ job, complete }) =>
          complete(async ({ client }) => {
            await handle(job.input);
            await client.query(userWrite(job.input.n));
            return null;
          })
      : async ({ job }) => {
          await handle(job.input);
          return null;
        };
    const handleAll = async (jobs) => {
      for (const { input } of jobs) await handle(input);
      return jobs.map(() => null);
    };
    const processBatch = transactional
      ? ({ complete }) =>
          complete(async ({ client, jobs }) => {
            await client.query(userWrites(jobs.map(({ input }) => input.n)));
            return handleAll(jobs);
          })
      : ({ jobs }) => handleAll(jobs);
    for (const typeName of types) {
      if (callSize === undefined) worker.implementJobType({ typeName, process });
      else worker.implementJobTypeBatch({ typeName, maxSize: callSize, process: processBatch });
    }
    return {
      start: async () => {
        await worker.start({ concurrency });
      },
      unfinished: async () => {
        const { rowCount } = await observer.query(
          `select 1 from leasehold.job where ready
           union all select 1 from leasehold.job where status = 'running' limit 1`,
        );
        return rowCount > 0;
      },
    };
  };

  /** Recurring jobs, each with one time, spread evenly over `spreadMs` from `startAt` on. */
  const putRecurring = async (
    { postgresUrl, types: [typeName] },
    { recurring, spreadMs, startAt, callers },
  ) => {
    const leasehold = await open(postgresUrl, callers);
    let next = 0;
    const putSome = async () => {
      while (next < recurring) {
        const n = next++;
        await leasehold.recurring.put({
          id: `recurring-${n}`,
          everyMs: 86_400_000,
          anchorAt: new Date(startAt + Math.floor((n * spreadMs) / recurring)),
          job: { typeName, input: { n } },
        });
      }
    };
    await Promise.all(Array.from({ length: callers }, putSome));
  };

  /** By the database's own clock: how late each job was created, in milliseconds, and for how many times there is more than one. */
  const readTicks = async ({ observer }) => {
    const { rows } = await observer.query(
      `select recurrence::jsonb ->> 'id' as id, created_at - (recurrence::jsonb ->> 'nominalAt')::bigint as late
       from leasehold.job where recurrence is not null`,
    );
    const ids = new Set(rows.map(({ id }) => id));
    return { lateMs: rows.map(({ late }) => Number(late)), duplicates: rows.length - ids.size };
  };

  const prefill = async ({ postgresUrl, observer }, kind, count) => {
    const leasehold = await open(postgresUrl);
    const { id } = await leasehold.startJobSequence({
      typeName: "no-op",
      input: { n: -1, email: "user@example.com" },
      schedule: { afterMs: 30 * 86_400_000 },
    });
    if (kind === "completed") {
      await leasehold.completeJobSequence({
        id,
        typeName: "no-op",
        complete: ({ job, complete }) => complete(job, async () => null),
      });
    }
    const replace = { id: "copy.fresh_id", sequence_id: "copy.fresh_id", root_sequence_id: "copy.fresh_id" };
    await cloneRow(observer, { table: "leasehold.job", count, replace });
  };

  return { install, openProducer, openWorker, putRecurring, readTicks, prefill };
};
