import { Binary, Long } from "bson";
import { errorNameOf } from "../errors.ts";
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

export const errorReply = (error: CommandError, labels: readonly string[]): Document => ({
  ok: 0,
  errmsg: error.message,
  code: error.code,
  codeName: errorNameOf(error.code),
  ...error.details,
  ...(labels.length > 0 ? { errorLabels: labels } : {}),
});
