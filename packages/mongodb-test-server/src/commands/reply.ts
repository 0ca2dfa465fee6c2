import { Binary, Long } from "bson";
import { errorNameOf, isStateChange } from "../errors.ts";
import type { CommandError } from "../errors.ts";
import type { Document } from "../bson-values/types.ts";
import type { ServerState } from "../server-state.ts";
import { tickToTimestamp } from "../storage/ticks.ts";

const clusterTimeOf = ({ store }: ServerState): Document => ({
  clusterTime: tickToTimestamp(store.time()),
  signature: { hash: new Binary(new Uint8Array(20)), keyId: Long.ZERO },
});

/** What every reply ends with. */
export const withTimes = (server: ServerState, reply: Document): Document => ({
  ...reply,
  operationTime: tickToTimestamp(server.store.time()),
  $clusterTime: clusterTimeOf(server),
});

/** An error that tells of a change of state says of which, so that drivers ignore one that comes late. */
export const withState = ({ topology }: ServerState, reply: Document, code: number): Document =>
  isStateChange(code) ? { ...reply, topologyVersion: topology.topologyVersion() } : reply;

export const errorReply = (error: CommandError, labels: readonly string[]): Document => ({
  ok: 0,
  errmsg: error.message,
  code: error.code,
  codeName: errorNameOf(error.code),
  ...error.details,
  ...(labels.length > 0 ? { errorLabels: labels } : {}),
});
