export { findDebianProgram } from "./debian-package.ts";
export { findFreePort } from "./free-port.ts";
export { type NatsServer, startNats } from "./nats.ts";
export { type PgBouncer, startPgBouncer } from "./pgbouncer.ts";
export type { PostgresVersion } from "./postgres-programs.ts";
export { type PostgresServer, type PostgresServerOptions, startPostgres } from "./postgres.ts";
export { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";
export { type RedisServer, type RedisServerOptions, startRedis } from "./redis.ts";
export { type ServerProcess, startServerProcess, unprivilegedUser } from "./server-process.ts";
