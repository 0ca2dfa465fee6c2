// How each process of the fleet is connected: to PostgreSQL through PgBouncer, and to what carries the notifications.
import { connect } from "@nats-io/transport-node";
import { Kvm } from "@nats-io/kv";
import { Redis } from "ioredis";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import { createNatsNotifyAdapter } from "../../packages/nats/dist/index.js";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "../../packages/postgres/dist/index.js";
import { createIoredisNotifyProvider, createRedisNotifyAdapter } from "../../packages/redis/dist/index.js";

/** By this name the listening connections, which do not go through PgBouncer, are told from the others. */
export const listenerName = "fleet listener";

/** Each opens a notify adapter, and says how to end what the adapter leaves open. */
const notifyAdapters = {
  none: async () => undefined,
  postgres: async ({ postgresUrl, schema }, pool) => {
    const createClient = () =>
      new pg.Client({ connectionString: postgresUrl, application_name: listenerName });
    const notifyProvider = createPgPoolNotifyProvider({ pool, createClient });
    return { adapter: await createPgNotifyAdapter({ notifyProvider, channelPrefix: schema }) };
  },
  redis: async ({ redisUrl, schema }) => {
    const client = new Redis(redisUrl);
    const notifyProvider = createIoredisNotifyProvider({ client });
    const adapter = await createRedisNotifyAdapter({ notifyProvider, channelPrefix: schema });
    return { adapter, end: () => client.disconnect() };
  },
  nats: async ({ natsUrl, schema }) => {
    const nc = await connect({ servers: natsUrl, maxReconnectAttempts: -1 });
    const kv = await new Kvm(nc).create("hints", { ttl: 60_000 });
    return {
      adapter: await createNatsNotifyAdapter({ nc, kv, subjectPrefix: schema }),
      end: () => nc.close(),
    };
  },
};

export const notifyAdapterNames = Object.keys(notifyAdapters);

/** Counts what is sent, of whatever kind, and which workers wake because of it. */
const counted = (adapter, counts) => ({
  ...adapter,
  ...Object.fromEntries(
    Object.entries(adapter)
      .filter(([name]) => name.startsWith("notify"))
      .map(([name, send]) => [
        name,
        (...args) => {
          counts.sent += 1;
          return send(...args);
        },
      ]),
  ),
  listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
    adapter.listenJobScheduled(
      typeNames,
      (typeName) => {
        counts.woken += 1;
        onScheduled(typeName);
      },
      wantsHint,
    ),
});

/**
 * @param {{ notify: string, schema: string, poolSize: number, migrate: boolean, bouncerUrl: string, postgresUrl: string,
 *   redisUrl: string, natsUrl: string }} options
 */
export const openProcess = async (options) => {
  const { notify, schema, poolSize, migrate, bouncerUrl } = options;
  const counts = { claims: 0, woken: 0, sent: 0, errors: {} };
  const count = (name) => {
    counts.errors[name] = (counts.errors[name] ?? 0) + 1;
  };
  const pool = new pg.Pool({ connectionString: bouncerUrl, max: poolSize });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool, prepareStatements: false }),
    schema,
    migrate,
  });
  const notifying = await notifyAdapters[notify](options, pool);
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes(),
    ...(notifying ? { notifyAdapter: counted(notifying.adapter, counts) } : {}),
    observabilityAdapter: {
      claimBatch: () => {
        counts.claims += 1;
      },
      workerError: ({ error }) => count(`worker: ${String(error)}`),
      notifyAdapterError: ({ error }) => count(`notification: ${String(error)}`),
    },
  });
  return {
    leasehold,
    counts,
    close: async () => {
      await leasehold.close();
      await notifying?.adapter.close();
      await notifying?.end?.();
      await stateAdapter.close();
      await pool.end();
    },
  };
};

/** Of the machine, not of the process: moments of several processes can be compared. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;
