import {
  type RunChecksCall,
  finding,
  type CheckResult,
  formatBytes,
  formatCount,
  formatDuration,
  judgeIndexes,
  judgeMigrations,
  tryCheck,
} from "leasehold/adapter";
import type { Database } from "./database/database.ts";
import type { SqlRow } from "./database/provider.ts";
import type { ReadLag } from "./database/read-replica.ts";
import { migrations } from "./migrations/index.ts";
import type { MigrationStatus } from "./migrations/migrate.ts";

export interface DiagnosticsContext {
  readonly database: Database;
  /** The name of the schema, without quotes. */
  readonly schema: string;
  migrationStatus(): Promise<MigrationStatus>;
  /** Null without a replica. */
  measureReadLag(): Promise<ReadLag | null>;
}

const query = (
  { database }: DiagnosticsContext,
  sql: string,
  params: readonly string[] = [],
): Promise<readonly SqlRow[]> => database.query(undefined, { sql, params });

const number = (row: SqlRow | undefined, column: string): number => Number(row?.[column] ?? 0);

// A transaction this many times older than the threshold is a problem.
const veryOld = 10;

const serverSql = `
  SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica,
    current_setting('autovacuum') AS autovacuum, current_setting('max_connections')::int AS most_connections,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections`;

const checkServer = async (examined: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const [row] = await query(examined, serverSql);
  const findings: CheckResult[] = [];
  if (row?.["replica"] === true) {
    findings.push(
      finding.problem(
        "server",
        "This is a read-only replica.",
        "Connect to the primary: jobs cannot be claimed here.",
      ),
    );
  }
  if (row?.["autovacuum"] !== "on") {
    findings.push(
      finding.problem("server", "Autovacuum is off.", "Turn it on: job tables bloat quickly without it."),
    );
  }
  const used = number(row, "connections");
  const most = number(row, "most_connections");
  if (used > most * 0.8) {
    findings.push(
      finding.warning(
        "server",
        `${used} of ${most} connections are in use.`,
        "Use smaller pools, or a pooler such as PgBouncer.",
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [
        finding.ok(
          "server",
          `PostgreSQL ${String(row?.["version"])}, ${used} of ${most} connections in use.`,
        ),
      ];
};

// Users of a list expect to find what they did a few seconds ago.
const longReadLagMs = 10_000;

const checkReadLag = async ({ measureReadLag }: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const lag = await measureReadLag();
  if (lag === null) return [];
  if (lag.bytes === 0) return [finding.ok("read replica", "It has replayed everything.")];
  const age = lag.ms === null ? "It has replayed nothing yet" : `It is ${formatDuration(lag.ms)} behind`;
  const summary = `${age}: ${formatBytes(lag.bytes)} are left to replay.`;
  return lag.ms !== null && lag.ms < longReadLagMs
    ? [finding.ok("read replica", summary)]
    : [
        finding.warning(
          "read replica",
          summary,
          "Lists, counts and statistics are as old as that. See what keeps the replica from replaying: long queries on it, its connection to the primary, or its disk.",
        ),
      ];
};

// Open transactions prevent the removal of dead rows. Oldest first.
const transactionsSql = `
  SELECT pid, state, usename, application_name,
    (extract(epoch FROM now() - xact_start) * 1000)::bigint AS age_ms
  FROM pg_stat_activity
  WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND datname = current_database()
  ORDER BY xact_start LIMIT 1`;

const checkTransactions = async (
  examined: DiagnosticsContext,
  { transactionAgeMs }: RunChecksCall,
): Promise<readonly CheckResult[]> => {
  const [row] = await query(examined, transactionsSql);
  const age = number(row, "age_ms");
  if (row === undefined || age < transactionAgeMs) {
    return [finding.ok("transactions", `No transaction is older than ${formatDuration(transactionAgeMs)}.`)];
  }
  const make = age < transactionAgeMs * veryOld ? finding.warning : finding.problem;
  return [
    make(
      "transactions",
      `A transaction is ${formatDuration(age)} old (pid ${String(row["pid"])}, ${String(row["state"])}, ${String(row["application_name"]) || "no application name"}). Until it ends, dead rows cannot be removed.`,
      `End it where it was begun, or with SELECT pg_terminate_backend(${String(row["pid"])}). A timeout such as idle_in_transaction_session_timeout keeps it from coming back.`,
    ),
  ];
};

const tableSql = `
  SELECT n_live_tup AS live, n_dead_tup AS dead, age(relfrozenxid) AS frozen_age,
    pg_total_relation_size(pg_class.oid) AS bytes, last_autovacuum
  FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
  WHERE schemaname = $1 AND pg_stat_user_tables.relname = 'job'`;

// Far below PostgreSQL's own emergency at 1.6 billion.
const frozenAgeLimit = 1_000_000_000;

const deadRowsToMention = 50_000;

const checkTable = async (examined: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const [row] = await query(examined, tableSql, [examined.schema]);
  const live = number(row, "live");
  const dead = number(row, "dead");
  const findings: CheckResult[] = [];
  if (dead > deadRowsToMention && dead > live) {
    findings.push(
      finding.problem(
        "dead rows",
        `${formatCount(dead)} dead rows beside ${formatCount(live)} live ones: claims have to step over them.`,
        `Look for old transactions, then run VACUUM ANALYZE ${examined.schema}.job.`,
      ),
    );
  } else if (dead > deadRowsToMention && dead > live / 5) {
    findings.push(
      finding.warning(
        "dead rows",
        `${formatCount(dead)} dead rows beside ${formatCount(live)} live ones.`,
        "Autovacuum should deal with them shortly; if the number grows, look for old transactions.",
      ),
    );
  } else {
    const size = formatBytes(number(row, "bytes"));
    findings.push(
      finding.ok(
        "dead rows",
        `${formatCount(dead)} dead and ${formatCount(live)} live rows, ${size} in all.`,
      ),
    );
  }
  if (number(row, "frozen_age") > frozenAgeLimit) {
    findings.push(
      finding.problem(
        "wraparound",
        `The job table has not been frozen for ${formatCount(number(row, "frozen_age"))} transactions.`,
        `Run VACUUM FREEZE ${examined.schema}.job, and find out what keeps autovacuum from it.`,
      ),
    );
  }
  return findings;
};

const indexSql = `
  SELECT pg_class.relname AS name, pg_index.indisvalid AS valid
  FROM pg_index JOIN pg_class ON pg_class.oid = pg_index.indexrelid
    JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
  WHERE pg_namespace.nspname = $1`;

const checkIndexes = async (examined: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const rows = await query(examined, indexSql, [examined.schema]);
  const usable = rows.filter((row) => row["valid"] === true).map((row) => String(row["name"]));
  const { tables } = examined.database;
  return [judgeIndexes(migrations.flatMap(({ statements }) => statements(tables)).join(";\n"), usable)];
};

const notificationsLimit = 0.1;

const checkNotifications = async (examined: DiagnosticsContext): Promise<readonly CheckResult[]> => {
  const [row] = await query(examined, "SELECT pg_notification_queue_usage() AS used");
  const used = number(row, "used");
  const share = `${(used * 100).toFixed(1)} %`;
  return used < notificationsLimit
    ? [finding.ok("notifications", `${share} of the server's notification queue is in use.`)]
    : [
        finding.problem(
          "notifications",
          `${share} of the server's notification queue is in use; when it is full, NOTIFY fails.`,
          "A session that listens holds a transaction open: end it.",
        ),
      ];
};

/** The estimated number of jobs, from autovacuum. A count would read the whole table. */
export const estimateJobs = async (examined: DiagnosticsContext): Promise<number> => {
  const [row] = await query(examined, tableSql, [examined.schema]);
  return number(row, "live");
};

export const runChecks = async (
  examined: DiagnosticsContext,
  call: RunChecksCall,
): Promise<readonly CheckResult[]> => {
  examined.database.assertOpen();
  const checks = [
    ["migrations", async () => [judgeMigrations(await examined.migrationStatus())]],
    ["server", checkServer],
    ["read replica", checkReadLag],
    ["transactions", checkTransactions],
    ["dead rows", checkTable],
    ["indexes", checkIndexes],
    ["notifications", checkNotifications],
  ] as const;
  const findings: CheckResult[] = [];
  for (const [name, check] of checks) findings.push(...(await tryCheck(name, () => check(examined, call))));
  return findings;
};
