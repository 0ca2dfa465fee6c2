import { spawn } from "node:child_process";
import { chmod, chown, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "./free-port.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import type { PostgresVersion } from "./postgres-programs.ts";
import { startRestartable } from "./restartable-server.ts";
import { startServerProcess, unprivilegedUser } from "./server-process.ts";
import type { ServerUser } from "./server-process.ts";

export interface PostgresServer {
  readonly version: PostgresVersion;
  readonly port: number;
  /** Connects as the superuser to the database `postgres`. */
  readonly url: string;
  readonly pid: number;
  output(): string;
  /** `fast` ends sessions and writes a checkpoint; `immediate` is a crash. */
  shutDown(mode: "fast" | "immediate"): Promise<void>;
  /** Starts it again on the same port and data after `shutDown`. */
  startAgain(): Promise<void>;
  /** Ends the server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

export interface PostgresServerOptions {
  readonly version?: PostgresVersion;
  /** Lines of postgresql.conf, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Off by default: a test that ends the process, not the machine, loses nothing by it. */
  readonly durable?: boolean;
}

const userName = "leasehold";

const runToEnd = (
  command: string,
  args: readonly string[],
  user: ServerUser | undefined,
  cwd: string,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "pipe"], cwd, ...user });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}:\n${output}`)),
    );
  });

/** Starts a PostgreSQL of its own, with a data folder of its own, on a free port of the loopback address. */
export const startPostgres = async ({
  version = 18,
  settings = {},
  durable = false,
}: PostgresServerOptions = {}): Promise<PostgresServer> => {
  const user = unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-postgres-"));
  await chmod(folder, 0o755);
  const programs = await findPostgresPrograms(version, folder);
  if (user) await chown(folder, user.uid, user.gid);
  const data = join(folder, "data");
  await runToEnd(
    programs.initdb,
    ["-D", data, "-U", userName, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    user,
    folder,
  );
  const port = await findFreePort();
  const configuration: Record<string, string> = {
    port: String(port),
    listen_addresses: "'127.0.0.1'",
    unix_socket_directories: "''",
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...settings,
  };
  await writeFile(
    join(data, "postgresql.auto.conf"),
    Object.entries(configuration)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(""),
  );
  if (user) await chown(join(data, "postgresql.auto.conf"), user.uid, user.gid);

  const server = await startRestartable(folder, () =>
    startServerProcess({
      command: programs.postgres,
      args: ["-D", data],
      port,
      cwd: folder,
      user,
      readyMessage: /ready to accept connections/,
    }),
  );

  return {
    version,
    port,
    url: `postgres://${userName}@127.0.0.1:${port}/postgres`,
    get pid() {
      return server.pid;
    },
    output: server.output,
    shutDown: (mode) => server.end(mode === "fast" ? "SIGINT" : "SIGQUIT"),
    startAgain: server.startAgain,
    stop: () => server.remove("SIGQUIT"),
  };
};
