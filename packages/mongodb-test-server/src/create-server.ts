import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createCursors } from "./cursors/cursors.ts";
import { createFailPoints } from "./faults/fail-points.ts";
import { createFaults } from "./faults/faults.ts";
import type { Faults } from "./faults/faults.ts";
import { hasCollectionScan, indexesOf } from "./planner/explain.ts";
import { createShuffle } from "./planner/shuffle.ts";
import type { ObservedPlan, ServerState } from "./server-state.ts";
import { createCatalog } from "./storage/catalog.ts";
import { createStore } from "./storage/store.ts";
import { createTopology } from "./topology.ts";
import { createSessions } from "./transactions/sessions.ts";
import { createTransactions } from "./transactions/session.ts";
import { serveConnection } from "./wire/connection.ts";

export interface MongoTestServerOptions {
  /** The server's clock, in milliseconds: `$$NOW`, the age of transactions. The machine's unless given. */
  readonly now?: () => number;
  /** How long a transaction may stay open. 60 s, as on the real server. */
  readonly transactionLifetimeMs?: number;
  /** Ends commands that take longer than their `maxTimeMS`. True unless a test must not depend on the speed of the machine. */
  readonly enforcesMaxTime?: boolean;
  /** Gives results without a sort in an order that depends on this number, not in that of insertion. */
  readonly shuffleSeed?: number;
}

export interface MongoTestServer {
  /** With the name of the replica set. */
  readonly uri: string;
  readonly port: number;
  readonly faults: Faults;
  /** Called for every query of every command; returns a function that takes the listener back. */
  onPlan(listener: (plan: ObservedPlan) => void): () => void;
  /** Open transactions are aborted, writes refused; after `ms`, or with `stepUp`, it is primary again. */
  stepDown(ms?: number): void;
  stepUp(): void;
  /** Cuts all connections; what is open on the server stays open. */
  cutConnections(): void;
  openTransactions(): number;
  abortTransactions(): number;
  /** Ends connections and listening. Idempotent. */
  stop(): Promise<void>;
}

const expiryCheckMs = 50;

/** Starts a server on a free port of the loopback address. Its data are gone with it. */
export const startMongoTestServer = async (
  options: MongoTestServerOptions = {},
): Promise<MongoTestServer> => {
  const { now = Date.now, transactionLifetimeMs = 60_000, enforcesMaxTime = true, shuffleSeed } = options;
  const sockets = new Set<Socket>();
  const planListeners = new Set<(plan: ObservedPlan) => void>();
  let address = "";
  let stepUpTimer: NodeJS.Timeout | undefined;

  const store = createStore(now);
  const transactions = createTransactions(store, now);
  const sessions = createSessions(transactions);
  const topology = createTopology("test");

  const stepUp = () => {
    clearTimeout(stepUpTimer);
    topology.stepUp();
  };
  const stepDown = (ms: number | undefined) => {
    clearTimeout(stepUpTimer);
    topology.stepDown();
    sessions.abortAll();
    if (ms !== undefined) stepUpTimer = setTimeout(stepUp, ms);
  };

  const state: ServerState = {
    address: () => address,
    now,
    store,
    catalog: createCatalog(),
    transactions,
    sessions,
    cursors: createCursors(),
    topology,
    failPoints: createFailPoints(),
    faults: createFaults(),
    shuffle: shuffleSeed === undefined ? undefined : createShuffle(shuffleSeed),
    transactionLifetimeMs: () => transactionLifetimeMs,
    enforcesMaxTime,
    stepDown,
    planned: (command, namespace, { plan, sortsInMemory, counts, found }) => {
      if (planListeners.size === 0) return;
      const observed = {
        command,
        namespace,
        indexes: indexesOf(plan),
        isCollectionScan: hasCollectionScan(plan),
        sortsInMemory,
        ...counts,
        returned: found.length,
      };
      for (const listener of planListeners) listener(observed);
    },
  };

  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serveConnection(state, socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(0, "127.0.0.1", resolve);
  });
  const { port } = listener.address() as AddressInfo;
  address = `127.0.0.1:${port}`;
  const expiry = setInterval(() => {
    sessions.abortExpired(now(), transactionLifetimeMs);
  }, expiryCheckMs);
  expiry.unref();

  const cutConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  let stopped: Promise<void> | undefined;

  return {
    uri: `mongodb://${address}/?replicaSet=test`,
    port,
    faults: state.faults,
    onPlan: (listener) => {
      planListeners.add(listener);
      return () => {
        planListeners.delete(listener);
      };
    },
    stepDown,
    stepUp,
    cutConnections,
    openTransactions: () => sessions.openTransactions().length,
    abortTransactions: () => sessions.abortAll(),
    stop: () => {
      stopped ??= new Promise((resolve) => {
        clearInterval(expiry);
        clearTimeout(stepUpTimer);
        listener.close(() => {
          resolve();
        });
        cutConnections();
      });
      return stopped;
    },
  };
};
