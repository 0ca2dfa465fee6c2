// What all systems share, and how much work a run does.
import { fileURLToPath } from "node:url";

/** Jobs a worker takes from the server at once: graphile-worker's documented fastest value, used for every system that batches. */
export const batchSize = 500;

/** Jobs handed over in one call by the bulk starts. */
export const bulkChunk = 5_000;

/** Callers that start single jobs at the same time in `start_concurrent`. */
export const concurrentStarters = 50;

/** Where the latency, steady-state and growth phases run. */
export const defaultConcurrency = 100;
export const transactionConcurrency = 10;

/** Jobs that one call of a handler gets in the batch phases, where the system has such handlers. */
export const callSize = 200;

export const typeCount = 100;

/** PostgreSQL's own defaults, except for these. `fsync` and `synchronous_commit` stay on. */
export const postgresSettings = {
  shared_buffers: "512MB",
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  max_connections: "200",
};

/** The persistence that BullMQ's guide recommends for production; snapshots off, so that no fork disturbs a measurement. */
export const redisSettings = {
  appendonly: "yes",
  appendfsync: "everysec",
  save: "",
  "maxmemory-policy": "noeviction",
};

/** How much a run does. */
export const scales = {
  full: {
    repetitions: 3,
    drainJobs: 20_000,
    transactionJobs: 5_000,
    bulkJobs: 50_000,
    startSeconds: 4,
    latencyStarts: 200,
    growthRows: 500_000,
    recurringJobs: 10_000,
    recurringSpreadMs: 60_000,
    secondsPerStep: 180,
  },
  cost: {
    repetitions: 3,
    drainJobs: 10_000,
    transactionJobs: 2_000,
    bulkJobs: 20_000,
    startSeconds: 1.5,
    latencyStarts: 60,
    secondsPerStep: 60,
  },
  quick: {
    repetitions: 1,
    drainJobs: 5_000,
    transactionJobs: 1_000,
    bulkJobs: 20_000,
    startSeconds: 1,
    latencyStarts: 40,
    growthRows: 50_000,
    recurringJobs: 1_000,
    recurringSpreadMs: 6_000,
    secondsPerStep: 30,
    // What has not begun by then is left out, so that the whole ends within five minutes.
    secondsInAll: 240,
  },
};

/** Every system runs under this Node.js, which some of them need to be newer than the one Leasehold asks for. */
export const nodeProgram = fileURLToPath(new URL("node_modules/node/bin/node", import.meta.url));
