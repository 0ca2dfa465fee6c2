import type { Document } from "../bson-values/types.ts";
import type { ServerState } from "../server-state.ts";
import { tickToTimestamp } from "../storage/ticks.ts";
import { largestDocument } from "./check-document.ts";
import type { Command } from "./command.ts";

export const serverVersion = "7.0.14";
const wireVersion = 21;

const helloReply = (server: ServerState, name: string): Document => {
  const { topology, store } = server;
  const isPrimary = topology.isPrimary();
  const address = server.address();
  const opTime = { ts: tickToTimestamp(store.time()), t: 1 };
  return {
    helloOk: true,
    ...(name === "hello" ? { isWritablePrimary: isPrimary } : { ismaster: isPrimary }),
    secondary: !isPrimary,
    topologyVersion: topology.topologyVersion(),
    hosts: [address],
    me: address,
    ...(isPrimary ? { primary: address, electionId: topology.electionId() } : {}),
    setName: topology.setName,
    setVersion: 1,
    lastWrite: { opTime, lastWriteDate: store.now(), majorityOpTime: opTime, majorityWriteDate: store.now() },
    maxBsonObjectSize: largestDocument,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    localTime: store.now(),
    logicalSessionTimeoutMinutes: 30,
    connectionId: 1,
    minWireVersion: 0,
    maxWireVersion: wireVersion,
    readOnly: false,
    ok: 1,
  };
};

/** Not checked for unknown fields: drivers describe themselves in it. */
export const hello: Command = {
  kind: "check",
  fields: [
    "helloOk",
    "client",
    "compression",
    "topologyVersion",
    "maxAwaitTimeMS",
    "loadBalanced",
    "saslSupportedMechs",
    "speculativeAuthenticate",
    "hostInfo",
    "backpressure",
  ],
  run: ({ server, name }) => helloReply(server, name),
};
