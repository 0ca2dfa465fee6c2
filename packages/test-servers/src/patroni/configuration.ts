export interface NodePorts {
  /** What clients and HAProxy use. */
  readonly postgres: number;
  readonly rest: number;
  /** What the other nodes use. */
  readonly postgresLink: number;
  readonly restLink: number;
  /** The node's own way to etcd. */
  readonly etcdLink: number;
}

export interface NodeConfigurationOptions {
  readonly name: string;
  readonly folder: string;
  readonly dataFolder: string;
  readonly programsFolder: string;
  readonly ports: NodePorts;
  readonly isSynchronous: boolean;
}

export const clusterName = "leasehold";
export const superuser = "leasehold";

// Long enough that a loaded machine does not cause failovers of its own.
const timing = { ttl: 15, loop_wait: 3, retry_timeout: 5 };

/** A configuration file of Patroni: JSON is YAML. */
export const describeNode = (options: NodeConfigurationOptions): string => {
  const { name, folder, dataFolder, programsFolder, ports, isSynchronous } = options;
  const at = (port: number): string => `127.0.0.1:${port}`;
  const trust = ["host replication all 127.0.0.1/32 trust", "host all all 127.0.0.1/32 trust"];
  return JSON.stringify({
    scope: clusterName,
    name,
    restapi: { listen: at(ports.rest), connect_address: at(ports.restLink) },
    // Not `etcd3`: a Patroni before 3.0.3 that was stopped for longer than its lock lasted would overwrite the lock of the new
    // leader when it continues. With version 2 of the API it compares first.
    // `use_proxies`: otherwise it would ask etcd for its address, and no longer use the link.
    etcd: { host: at(ports.etcdLink), use_proxies: true },
    bootstrap: {
      dcs: {
        ...timing,
        // A leader whose PostgreSQL crashed is replaced at once, not started again.
        primary_start_timeout: 0,
        master_start_timeout: 0,
        maximum_lag_on_failover: 1_000_000_000,
        synchronous_mode: isSynchronous,
        synchronous_mode_strict: isSynchronous,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: { max_connections: 200, shared_buffers: "64MB", wal_keep_size: "256MB" },
        },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C" }],
      pg_hba: trust,
    },
    postgresql: {
      listen: at(ports.postgres),
      connect_address: at(ports.postgresLink),
      data_dir: dataFolder,
      bin_dir: programsFolder,
      pgpass: `${folder}/pgpass-${name}`,
      pg_hba: trust,
      authentication: {
        superuser: { username: superuser, password: "secret" },
        replication: { username: "replicator", password: "secret" },
      },
      parameters: { unix_socket_directories: folder },
    },
  });
};
