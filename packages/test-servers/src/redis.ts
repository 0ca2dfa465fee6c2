import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import { startRestartable } from "./restartable-server.ts";
import { startServerProcess } from "./server-process.ts";

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  output(): string;
  /** `stop` ends it in good order; `kill` is a crash. */
  shutDown(mode: "stop" | "kill"): Promise<void>;
  /** Starts it again on the same port after `shutDown`, empty. */
  startAgain(): Promise<void>;
  /** Ends the server and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Lines of redis.conf, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a Redis of its own that keeps nothing on disk, on a free port of the loopback address. */
export const startRedis = async ({ settings = {} }: RedisServerOptions = {}): Promise<RedisServer> => {
  const command = await findDebianProgram("/usr/bin/redis-server", "redis-server");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-redis-"));
  const port = await findFreePort();
  const configuration: Record<string, string> = {
    port: String(port),
    bind: "127.0.0.1",
    dir: folder,
    save: "",
    appendonly: "no",
    ...settings,
  };
  const args = Object.entries(configuration).flatMap(([name, value]) => [`--${name}`, value]);

  const server = await startRestartable(folder, () =>
    startServerProcess({ command, args, port, cwd: folder }),
  );

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return server.pid;
    },
    output: server.output,
    shutDown: (mode) => server.end(mode === "stop" ? "SIGTERM" : "SIGKILL"),
    startAgain: server.startAgain,
    stop: () => server.remove("SIGKILL"),
  };
};
