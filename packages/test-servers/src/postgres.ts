import { chmod, cp, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "./free-port.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import type { PostgresVersion } from "./postgres-programs.ts";
import { startRestartable } from "./restartable-server.ts";
import { giveToServerUser, runToEnd } from "./run-to-end.ts";
import { startServerProcess, unprivilegedUser } from "./server-process.ts";

export interface PostgresServer {
  readonly version: PostgresVersion;
  readonly port: number;
  /** Where its data is. */
  readonly dataFolder: string;
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
  /** Begins as a standby of this server, which is down for a moment while its data is copied. */
  readonly standbyOf?: PostgresServer;
}

const userName = "leasehold";

const copyData = async (primary: PostgresServer, target: string): Promise<void> => {
  await primary.shutDown("fast");
  await cp(primary.dataFolder, target, { recursive: true });
  await primary.startAgain();
  await writeFile(join(target, "standby.signal"), "");
  await giveToServerUser(target);
};

/** Starts a PostgreSQL of its own, with a data folder of its own, on a free port of the loopback address. */
export const startPostgres = async ({
  version = 18,
  settings = {},
  durable = false,
  standbyOf,
}: PostgresServerOptions = {}): Promise<PostgresServer> => {
  const user = unprivilegedUser();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-postgres-"));
  await chmod(folder, 0o755);
  const programs = await findPostgresPrograms(version, folder);
  await giveToServerUser(folder);
  const data = join(folder, "data");
  const initialise = (): Promise<unknown> =>
    runToEnd(
      programs.initdb,
      ["-D", data, "-U", userName, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
      user,
      folder,
    );
  await (standbyOf === undefined ? initialise() : copyData(standbyOf, data));
  const port = await findFreePort();
  const configuration: Record<string, string> = {
    port: String(port),
    listen_addresses: "'127.0.0.1'",
    unix_socket_directories: "''",
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...(standbyOf === undefined
      ? {}
      : { primary_conninfo: `'host=127.0.0.1 port=${standbyOf.port} user=${userName}'` }),
    ...settings,
  };
  await writeFile(
    join(data, "postgresql.auto.conf"),
    Object.entries(configuration)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(""),
  );
  await giveToServerUser(join(data, "postgresql.auto.conf"));

  const server = await startRestartable(folder, () =>
    startServerProcess({
      command: programs.postgres,
      args: ["-D", data],
      port,
      cwd: folder,
      user,
      readyMessage: /ready to accept (read-only )?connections/,
    }),
  );

  return {
    version,
    port,
    dataFolder: data,
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
