// When the cluster itself is back, whatever its clients do.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const patienceMs = 45_000;

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
  const rows = await askNode(node, user, sql, patienceMs);
  return rows && Number.parseInt(rows[0].timeline, 16);
};

/**
 * With etcd 3, a Patroni 3.0 that was stopped for longer than its lock lasted takes the lock from the new leader when it
 * continues. Then what the new leader confirmed is gone, and the leader waits for ever for the other to correct its note of the
 * synchronous standby ("Synchronous replication key updated by someone else"). Somebody has to remove that note.
 */
const helpPatroni = async (cluster, print) => {
  print("  Patroni does not get on: its note of the synchronous standby is removed");
  await cluster.forgetStandby();
};

/** When the leader has confirmed a write, and on which timeline: in synchronous mode that needs a standby, too. */
export const takesWrites = async (cluster, print) => {
  for (let tries = 1; ; tries += 1) {
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline) {
      const leader = await cluster.leader();
      const timeline = leader && (await write(leader, cluster.user));
      if (timeline !== undefined) return { at: Date.now(), timeline };
      await sleep(100);
    }
    if (tries === 3) throw new Error("No leader takes writes.");
    await helpPatroni(cluster, print);
  }
};

/**
 * Whether the standby that Patroni would promote is the one that PostgreSQL waits for. Where it is not, a failover loses what was
 * acknowledged, and that is nobody's fault but Patroni's.
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

const standbyAgreed = async (cluster) => {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    if (await agreesOnStandby(cluster).catch(() => false)) return true;
    await sleep(500);
  }
  return false;
};

/** All nodes are well, so that the next one may fail. */
export const settle = async (cluster, isSynchronous, print) => {
  for (let tries = 1; ; tries += 1) {
    try {
      await cluster.settled();
      if (!isSynchronous || (await standbyAgreed(cluster))) return;
      throw new Error("Patroni and PostgreSQL do not agree on the synchronous standby.");
    } catch (error) {
      if (tries === 3) throw error;
      await helpPatroni(cluster, print);
    }
  }
};
