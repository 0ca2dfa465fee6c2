import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import { giveToServerUser } from "./run-to-end.ts";
import { startServerProcess, unprivilegedUser } from "./server-process.ts";

export interface PgBouncer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A connection pooler in transaction mode before the server: no session outlives a transaction. */
export const startPgBouncer = async (postgres: { readonly port: number }): Promise<PgBouncer> => {
  const program = await findDebianProgram("/usr/sbin/pgbouncer", "pgbouncer");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-pgbouncer-"));
  await chmod(folder, 0o755);
  const port = await findFreePort();
  const file = join(folder, "pgbouncer.ini");
  // "any" logs everyone in as this user, who must be named for each database.
  await writeFile(
    file,
    [
      "[databases]",
      `* = host=127.0.0.1 port=${postgres.port} user=leasehold`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      "default_pool_size = 10",
      "max_client_conn = 1000",
      // After a failed connection it waits for 15 seconds by default, and a failover is over by then.
      "server_login_retry = 1",
      "",
    ].join("\n"),
  );
  await giveToServerUser(folder);
  const server = await startServerProcess({ command: program, args: [file], port, user: unprivilegedUser() });
  return {
    port,
    url: `postgres://leasehold@127.0.0.1:${port}/postgres`,
    pid: server.pid,
    stop: async () => {
      await server.end("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
};
