// graphile-worker, as its documentation describes it; the two systems differ in their batching options only.
import { makeWorkerUtils, run, Logger } from "graphile-worker";
import pg from "pg";
import { cloneRow } from "./clone-row.mjs";
import { userWrite } from "./user-write.mjs";

const silent = new Logger(() => () => {});

const toSpec = ({ type, input }) => ({ identifier: type, payload: input });

/** @param {{ batching: object, producerConnections: number }} settings */
export const createGraphileWorker = ({ batching, producerConnections }) => {
  const presetFor = (postgresUrl, worker) => ({
    worker: { connectionString: postgresUrl, logger: silent, ...worker },
  });

  const openUtils = (postgresUrl) =>
    makeWorkerUtils({ preset: presetFor(postgresUrl, { maxPoolSize: producerConnections }) });

  return {
    install: async ({ postgresUrl }) => {
      const utils = await openUtils(postgresUrl);
      await utils.migrate();
      await utils.release();
    },

    openProducer: async ({ postgresUrl }) => {
      const utils = await openUtils(postgresUrl);
      return {
        start: ({ type, input }) => utils.addJob(type, input),
        startMany: (jobs) => utils.addJobs(jobs.map(toSpec)),
      };
    },

    openWorker: async ({ postgresUrl, types, observer }, { concurrency, transactional, handle }) => {
      // The library deletes a job with a connection of its own after the handler, so the write cannot share its transaction.
      const pool = transactional
        ? new pg.Pool({ connectionString: postgresUrl, max: concurrency })
        : undefined;
      const task = pool
        ? async (input) => {
            await handle(input);
            await pool.query(userWrite(input.n));
          }
        : async (input) => handle(input);
      const { rows } = await observer.query(
        "select coalesce(min(id), 0) as first from graphile_worker._private_jobs where run_at <= now()",
      );
      const preset = presetFor(postgresUrl, {
        concurrentJobs: concurrency,
        maxPoolSize: Math.max(10, concurrency + 2),
        ...batching,
      });
      return {
        start: async () => {
          await run({
            preset,
            noHandleSignals: true,
            taskList: Object.fromEntries(types.map((type) => [type, task])),
          });
        },
        unfinished: async () => {
          const { rowCount } = await observer.query(
            "select 1 from graphile_worker._private_jobs where id >= $1 and run_at <= now() limit 1",
            [rows[0].first],
          );
          return rowCount > 0;
        },
      };
    },

    // Completed jobs are deleted, so there is nothing to put in the table for them.
    prefill: async ({ postgresUrl, observer }, kind, count) => {
      if (kind === "completed") return;
      const utils = await openUtils(postgresUrl);
      await utils.addJob(
        "no-op",
        { n: -1, email: "user@example.com" },
        {
          runAt: new Date(Date.now() + 30 * 86_400_000),
        },
      );
      await utils.release();
      await cloneRow(observer, { table: "graphile_worker._private_jobs", count });
    },
  };
};
