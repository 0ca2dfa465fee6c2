// When the cluster itself is back, whatever its clients do.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const patienceMs = 120_000;
const writePatienceMs = 45_000;

const askNode = async (node, user, sql, timeoutMs) => {
  const client = new pg.Client({
    host: "127.0.0.1",
    port: node.port,
    user,
    database: "postgres",
    connectionTimeoutMillis: 2_000,
    query_timeout: timeoutMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } catch {
    return undefined;
  } finally {
    // A client whose server hangs does not end.
    void client.end().catch(() => {});
  }
};

/** Returns the timeline, a number that grows with every promotion; undefined if the write is not confirmed. */
const write = async (node, user) => {
  const sql =
    "INSERT INTO probe VALUES (now()) RETURNING left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline";
  const rows = await askNode(node, user, sql, writePatienceMs);
  return rows && Number.parseInt(rows[0].timeline, 16);
};

/** When the leader has confirmed a write, and on which timeline: in synchronous mode that needs a standby, too. */
export const takesWrites = async (cluster) => {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    const leader = await cluster.leader();
    const timeline = leader && (await write(leader, cluster.user));
    if (timeline !== undefined) return { at: Date.now(), timeline };
    await sleep(100);
  }
  throw new Error("No leader takes writes.");
};

/**
 * Whether the standby that Patroni would promote is the one that PostgreSQL waits for. Until then a
 * failover would have to wait.
 */
const agreesOnStandby = async (cluster) => {
  const leader = await cluster.leader();
  const members = (await leader?.members()) ?? [];
  const promotable = members.filter(({ role }) => role === "sync_standby").map(({ name }) => name);
  const awaited = await askNode(
    leader,
    cluster.user,
    "SELECT application_name AS name FROM pg_stat_replication WHERE sync_state = 'sync'",
    2_000,
  );
  return promotable.length === 1 && awaited?.length === 1 && awaited[0].name === promotable[0];
};

/** All nodes are well, so that the next one may fail. */
export const settle = async (cluster, isSynchronous) => {
  await cluster.settled();
  const deadline = Date.now() + patienceMs;
  while (isSynchronous && !(await agreesOnStandby(cluster).catch(() => false))) {
    if (Date.now() > deadline)
      throw new Error("Patroni and PostgreSQL do not agree on the synchronous standby.");
    await sleep(500);
  }
};
