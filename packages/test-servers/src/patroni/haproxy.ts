import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findDebianProgram } from "../debian-package.ts";
import { findFreePort } from "../free-port.ts";
import { type ServerProcess, startServerProcess } from "../server-process.ts";

export interface HaProxy extends ServerProcess {
  readonly port: number;
}

export interface HaProxyTarget {
  readonly name: string;
  readonly port: number;
  /** Where Patroni says whether this node is the leader. */
  readonly checkPort: number;
}

/** Starts an HAProxy that leads to the leader, as Patroni names it. */
export const startHaProxy = async (folder: string, targets: readonly HaProxyTarget[]): Promise<HaProxy> => {
  const command = await findDebianProgram("/usr/sbin/haproxy", "haproxy");
  const port = await findFreePort();
  const file = join(folder, "haproxy.cfg");
  const lines = [
    "defaults",
    "  mode tcp",
    "  timeout connect 3s",
    "  timeout client 30m",
    "  timeout server 30m",
    "  timeout check 2s",
    "listen primary",
    `  bind 127.0.0.1:${port}`,
    "  option httpchk OPTIONS /primary",
    "  http-check expect status 200",
    "  default-server inter 1s fall 3 rise 1 on-marked-down shutdown-sessions",
    ...targets.map(
      ({ name, port, checkPort }) => `  server ${name} 127.0.0.1:${port} check port ${checkPort}`,
    ),
    "",
  ];
  await writeFile(file, lines.join("\n"));
  return {
    ...(await startServerProcess({ command, args: ["-db", "-f", file], port, cwd: folder })),
    port,
  };
};
