// Several PostgreSQL servers, each with the jobs of its own tenants, and one process that works for all of them.
import { createLeasehold, defineUnionJobTypes, type RunningWorker } from "leasehold";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "@leasehold/postgres";
import pg from "pg";

const jobTypes = defineUnionJobTypes<{ "send-report": { input: { tenant: string }; output: string } }>();

// #region open
const openServer = async (connectionString: string) => {
  const pool = new pg.Pool({ connectionString });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const notifyAdapter = await createPgNotifyAdapter({ notifyProvider: createPgPoolNotifyProvider({ pool }) });
  const leasehold = await createLeasehold({ stateAdapter, notifyAdapter, jobTypes });
  const close = async (): Promise<void> => {
    await leasehold.close();
    await notifyAdapter.close();
    await pool.end();
  };
  return { leasehold, close };
};

type Server = Awaited<ReturnType<typeof openServer>>;

/** By name, such as the region of the server. */
export const openServers = async (urls: Readonly<Record<string, string>>): Promise<Map<string, Server>> =>
  new Map(
    await Promise.all(
      Object.entries(urls).map(async ([name, url]) => [name, await openServer(url)] as const),
    ),
  );
// #endregion

// #region work
/** One worker for each server, in this process. Each claims from its own server only, and none waits for another. */
export const startWorkers = (
  servers: ReadonlyMap<string, Server>,
  send: (tenant: string) => Promise<string>,
): Promise<RunningWorker[]> =>
  Promise.all(
    [...servers.values()].map(({ leasehold }) =>
      leasehold
        .createWorker()
        .implementJobType({ typeName: "send-report", process: ({ job }) => send(job.input.tenant) })
        .start({ concurrency: 10 }),
    ),
  );
// #endregion

// #region use
/** Where the rows of a tenant are, there are its jobs: both are written in one transaction. */
export const sendReport = async (
  servers: ReadonlyMap<string, Server>,
  serverOf: (tenant: string) => string,
  tenant: string,
): Promise<string> => {
  const { leasehold } = servers.get(serverOf(tenant))!;
  const sequence = await leasehold.startJobSequence({ typeName: "send-report", input: { tenant } });
  return (await leasehold.waitForJobSequenceCompletion(sequence)).output;
};

/** A server that is away fails alone. Its name says where to try again. */
export const redriveEverywhere = async (
  servers: ReadonlyMap<string, Server>,
): Promise<Map<string, number | Error>> => {
  const redrive = async ({ leasehold }: Server): Promise<number> => {
    let redriven = 0;
    let cursor: string | null | undefined;
    do {
      const page = await leasehold.jobs.redrive({ filter: { typeName: "send-report" }, cursor });
      redriven += page.changed.length;
      cursor = page.cursor;
    } while (cursor);
    return redriven;
  };
  return new Map(
    await Promise.all(
      [...servers].map(
        async ([name, server]) => [name, await redrive(server).catch((error) => error as Error)] as const,
      ),
    ),
  );
};
// #endregion
