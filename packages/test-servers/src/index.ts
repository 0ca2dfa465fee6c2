export { findDebianProgram } from "./debian-package.ts";
export { findFreePort } from "./free-port.ts";
export { type PgBouncer, startPgBouncer } from "./pgbouncer.ts";
export type { PostgresVersion } from "./postgres-programs.ts";
export { type PostgresServer, type PostgresServerOptions, startPostgres } from "./postgres.ts";
export { type ServerProcess, startServerProcess, unprivilegedUser } from "./server-process.ts";
