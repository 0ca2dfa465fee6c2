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
 * Keeps a `Pool` of `pg` from ending the process when a server goes away. In Node, an `error` event without a listener does
 * that, and a pool listens to its clients only while they are idle. Nothing is lost by ignoring the event: the query that
 * runs is rejected as well, and the pool replaces the client.
 *
 * `createPgPoolProvider` and the provider for Drizzle do this themselves. Call it for a pool that you use with Kysely.
 */
export const ignorePoolErrors = (pool: PgPoolEvents): void => {
  if (done.has(pool)) return;
  done.add(pool);
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
};
