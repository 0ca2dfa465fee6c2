import pg from "pg";

/** A pool whose clients may lose their server at any time without ending the process. */
export const createPool = (config: pg.PoolConfig): pg.Pool => {
  const pool = new pg.Pool(config);
  // For clients that are idle.
  pool.on("error", () => {});
  // For clients that are in use, as in a transaction: the query that is running fails as well, and that is enough.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
};
