import { UUID } from "bson";
import type { Command } from "./command.ts";
import { listField } from "./fields.ts";

const remove: Command = {
  kind: "check",
  fields: [],
  run: ({ server, command, name }) => {
    for (const lsid of listField(command, name)) server.sessions.remove(lsid);
    return { ok: 1 };
  },
};

const startSession: Command = {
  kind: "check",
  fields: [],
  run: () => ({ id: { id: new UUID() }, timeoutMinutes: 30, ok: 1 }),
};

const refreshSessions: Command = { kind: "check", fields: [], run: () => ({ ok: 1 }) };

const killAllSessions: Command = {
  kind: "check",
  fields: [],
  run: ({ server }) => {
    server.sessions.abortAll();
    return { ok: 1 };
  },
};

export const sessionCommands: Readonly<Record<string, Command>> = {
  endSessions: remove,
  killSessions: remove,
  startSession,
  refreshSessions,
  killAllSessions,
};
