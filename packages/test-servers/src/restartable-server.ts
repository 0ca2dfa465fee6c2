import { rm } from "node:fs/promises";
import type { ServerProcess } from "./server-process.ts";

/** A server that a test can end, start again and remove. */
export interface RestartableServer {
  readonly pid: number;
  /** The last of what it printed, for the message of a test that fails. */
  output(): string;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
  startAgain(): Promise<void>;
  /** Ends the server with the signal and removes its folder. Idempotent. */
  remove(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a server whose data is in `folder`. */
export const startRestartable = async (
  folder: string,
  start: () => Promise<ServerProcess>,
): Promise<RestartableServer> => {
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  let server = await start().catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  let isRemoved = false;
  return {
    get pid() {
      return server.pid;
    },
    output: () => server.output(),
    end: (signal) => server.end(signal),
    startAgain: async () => {
      server = await start();
    },
    remove: async (signal) => {
      if (isRemoved) return;
      isRemoved = true;
      await server.end(signal);
      await removeFolder();
    },
  };
};
