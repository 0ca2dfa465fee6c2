// A pool of `pg` for a cluster of several hosts, any of which may be the primary.
import pg from "pg";

export interface Host {
  readonly host: string;
  readonly port: number;
}

// #region several-hosts
/** A pool whose connections all lead to the primary, whichever host that is at the moment. */
export const createPrimaryPool = (hosts: readonly Host[], config: pg.PoolConfig): pg.Pool => {
  let next = 0;
  const hostOf = new WeakMap<pg.ClientBase, number>();

  // Each new connection tries the next host, until one is the primary. From then on all try that one first.
  class Client extends pg.Client {
    constructor(options: pg.ClientConfig = {}) {
      const index = next % hosts.length;
      super({ ...options, ...hosts[index] });
      hostOf.set(this, index);
      next = index + 1;
    }
  }

  return new pg.Pool({
    ...config,
    Client,
    connectionTimeoutMillis: 3_000,
    // For every new connection.
    verify: (client, done) => {
      client.query<{ standby: boolean }>(
        "SELECT pg_is_in_recovery() AS standby",
        (error: Error | null, result) => {
          // Leasehold retries after errors with this code.
          const standby = Object.assign(new Error("This host is a standby."), { code: "25006" });
          const problem = error ?? (result.rows[0]!.standby ? standby : undefined);
          if (!problem) next = hostOf.get(client)!;
          done(problem);
        },
      );
    },
  });
};
// #endregion
