import type { Document } from "../bson-values/types.ts";
import type { Command } from "./command.ts";
import { numberField } from "./fields.ts";
import { serverVersion } from "./hello.ts";
import { largestDocument } from "./check-document.ts";

const answer =
  (reply: Document = {}): Command["run"] =>
  () => ({ ...reply, ok: 1 });

const ping: Command = { kind: "check", fields: [], run: answer() };

const buildInfo: Command = {
  kind: "check",
  fields: [],
  run: answer({
    version: serverVersion,
    versionArray: [...serverVersion.split(".").map(Number), 0],
    gitVersion: "none",
    modules: [],
    maxBsonObjectSize: largestDocument,
    storageEngines: ["wiredTiger"],
  }),
};

const serverStatus: Command = {
  kind: "check",
  fields: ["repl", "metrics", "locks"],
  run: ({ server }) => ({
    host: server.address(),
    version: serverVersion,
    process: "leasehold-mongodb-test-server",
    localTime: server.store.now(),
    storageEngine: { name: "wiredTiger" },
    transactions: { currentOpen: server.sessions.openTransactions().length },
    metrics: { cursor: { open: { total: server.cursors.count() } } },
    ok: 1,
  }),
};

const getParameter: Command = {
  kind: "check",
  fields: [
    "featureCompatibilityVersion",
    "transactionLifetimeLimitSeconds",
    "enableTestCommands",
    "authenticationMechanisms",
    "requireApiVersion",
  ],
  run: ({ server }) => ({
    featureCompatibilityVersion: { version: serverVersion.slice(0, 3) },
    transactionLifetimeLimitSeconds: server.transactionLifetimeMs() / 1000,
    enableTestCommands: true,
    authenticationMechanisms: [],
    requireApiVersion: false,
    ok: 1,
  }),
};

const configureFailPoint: Command = {
  kind: "check",
  fields: ["mode", "data"],
  run: ({ server, target, command }) => {
    server.failPoints.configure(String(target), command["mode"], command["data"]);
    return { ok: 1 };
  },
};

const replSetStepDown: Command = {
  kind: "write",
  fields: ["force", "secondaryCatchUpPeriodSecs"],
  run: ({ server, command }) => {
    server.stepDown((numberField(command, "replSetStepDown") ?? 60) * 1000);
    return { ok: 1 };
  },
};

const connectionStatus: Command = {
  kind: "check",
  fields: ["showPrivileges"],
  run: answer({ authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] } }),
};

export const administrationCommands: Readonly<Record<string, Command>> = {
  ping,
  buildInfo,
  serverStatus,
  getParameter,
  configureFailPoint,
  replSetStepDown,
  connectionStatus,
  buildinfo: buildInfo,
};
