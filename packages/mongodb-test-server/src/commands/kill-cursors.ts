import { Long } from "bson";
import type { Command } from "./command.ts";
import { listField } from "./fields.ts";

export const killCursors: Command = {
  kind: "check",
  inTransactions: true,
  fields: ["cursors"],
  run: ({ server, command }) => {
    const killed: Long[] = [];
    const notFound: Long[] = [];
    for (const id of listField(command, "cursors")) {
      const cursor = id instanceof Long ? id : Long.fromNumber(Number(id));
      (server.cursors.close(cursor) ? killed : notFound).push(cursor);
    }
    return { cursorsKilled: killed, cursorsNotFound: notFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 };
  },
};
