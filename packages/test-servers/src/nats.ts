import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import { startRestartable } from "./restartable-server.ts";
import { startServerProcess } from "./server-process.ts";

export interface NatsServer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  output(): string;
  /** `stop` ends it in good order; `kill` is a crash. */
  shutDown(mode: "stop" | "kill"): Promise<void>;
  /** Starts it again on the same port and data after `shutDown`. */
  startAgain(): Promise<void>;
  /** Ends the server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

/** Starts a NATS server with JetStream and a data folder of its own, on a free port of the loopback address. */
export const startNats = async (
  /** Of the command line, besides these. */
  moreSettings: Readonly<Record<string, string>> = {},
): Promise<NatsServer> => {
  const command = await findDebianProgram("/usr/sbin/nats-server", "nats-server");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-nats-"));
  const port = await findFreePort();
  const settings = { addr: "127.0.0.1", port: String(port), store_dir: folder, ...moreSettings };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);

  const server = await startRestartable(folder, () =>
    startServerProcess({
      command,
      args: [...args, "--jetstream"],
      port,
      cwd: folder,
      // The port accepts connections before JetStream answers requests.
      readyMessage: /Server is ready/,
    }),
  );

  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    get pid() {
      return server.pid;
    },
    output: server.output,
    shutDown: (mode) => server.end(mode === "stop" ? "SIGTERM" : "SIGKILL"),
    startAgain: server.startAgain,
    stop: () => server.remove("SIGKILL"),
  };
};
