/** What is used of the events of a `Pool` of `pg`. */
export interface PgPoolEvents {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(
    event: "connect",
    listener: (client: { on(event: "error", listener: () => void): unknown }) => void,
  ): unknown;
}

const ignore = (): void => {};
const done = new WeakSet<PgPoolEvents>();

/**
 * Keeps a `Pool` of `pg` from ending the process when a server goes away. By Node's rules an `error` event that nobody
 * listens to does, and a pool listens to its clients only while they are idle. Nothing is lost by ignoring the event: the
 * query that runs is rejected as well, and the pool replaces the client.
 *
 * `createPgPoolProvider` and the provider for Drizzle see to it themselves; call this for a pool that you hand to Kysely.
 */
export const ignorePoolErrors = (pool: PgPoolEvents): void => {
  if (done.has(pool)) return;
  done.add(pool);
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
};
