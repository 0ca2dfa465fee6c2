import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import type { NatsServer } from "./nats.ts";
import { startRestartable } from "./restartable-server.ts";
import { startServerProcess } from "./server-process.ts";

export interface NatsCluster {
  /** Three servers with JetStream that know each other. */
  readonly nodes: readonly NatsServer[];
  /** Ends every server. Idempotent. */
  stop(): Promise<void>;
}

const size = 3;

/** Starts three NATS servers on the loopback address that are one cluster. */
export const startNatsCluster = async (): Promise<NatsCluster> => {
  const command = await findDebianProgram("/usr/sbin/nats-server", "nats-server");
  const ports = await Promise.all(Array.from({ length: size }, findFreePort));
  const routePorts = await Promise.all(Array.from({ length: size }, findFreePort));
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(",");

  const start = async (port: number, index: number): Promise<NatsServer> => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-nats-"));
    const settings = {
      addr: "127.0.0.1",
      port: String(port),
      server_name: `node-${index}`,
      cluster_name: "leasehold",
      cluster: `nats://127.0.0.1:${routePorts[index]}`,
      routes,
      store_dir: folder,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    const server = await startRestartable(folder, () =>
      startServerProcess({ command, args: [...args, "--jetstream"], port, cwd: folder }),
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

  const nodes = await Promise.all(ports.map(start));
  return {
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
};
