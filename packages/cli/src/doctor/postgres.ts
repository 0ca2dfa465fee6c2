import { formatBytes, formatCount, formatDuration } from "../output/amounts.ts";
import type { Database, Row } from "../store/store.ts";
import { attempt, type Finding, ok, problem, warning } from "./finding.ts";
import { checkIndexes } from "./migrations.ts";

type Postgres = Extract<Database, { readonly kind: "postgres" }>;

const number = (row: Row | undefined, column: string): number => Number(row?.[column] ?? 0);

export interface PostgresCheckOptions {
  /** From this age on a transaction is worth a warning. */
  readonly transactionAge: number;
}

// So many times that age, and it is a problem.
const veryOld = 10;

const serverSql = `
  SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS replica,
    current_setting('autovacuum') AS autovacuum, current_setting('max_connections')::int AS most_connections,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections`;

const checkServer = async (database: Postgres): Promise<readonly Finding[]> => {
  const [row] = await database.query(serverSql);
  const findings: Finding[] = [];
  if (row?.["replica"] === true) {
    findings.push(
      problem(
        "server",
        "This is a read-only replica.",
        "Connect to the primary: jobs cannot be claimed here.",
      ),
    );
  }
  if (row?.["autovacuum"] !== "on") {
    findings.push(
      problem("server", "Autovacuum is off.", "Turn it on: job tables bloat quickly without it."),
    );
  }
  const used = number(row, "connections");
  const most = number(row, "most_connections");
  if (used > most * 0.8) {
    findings.push(
      warning(
        "server",
        `${used} of ${most} connections are in use.`,
        "Use smaller pools, or a pooler such as PgBouncer.",
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [ok("server", `PostgreSQL ${String(row?.["version"])}, ${used} of ${most} connections in use.`)];
};

// What holds back the removal of dead rows: open transactions, by their age.
const transactionsSql = `
  SELECT pid, state, usename, application_name,
    (extract(epoch FROM now() - xact_start) * 1000)::bigint AS age_ms
  FROM pg_stat_activity
  WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND datname = current_database()
  ORDER BY xact_start LIMIT 1`;

const checkTransactions = async (
  database: Postgres,
  { transactionAge }: PostgresCheckOptions,
): Promise<readonly Finding[]> => {
  const [row] = await database.query(transactionsSql);
  const age = number(row, "age_ms");
  if (row === undefined || age < transactionAge) {
    return [ok("transactions", `No transaction is older than ${formatDuration(transactionAge)}.`)];
  }
  const make = age < transactionAge * veryOld ? warning : problem;
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

const checkTable = async (database: Postgres): Promise<readonly Finding[]> => {
  const [row] = await database.query(tableSql, [database.schema]);
  const live = number(row, "live");
  const dead = number(row, "dead");
  const findings: Finding[] = [];
  if (dead > deadRowsToMention && dead > live) {
    findings.push(
      problem(
        "dead rows",
        `${formatCount(dead)} dead rows beside ${formatCount(live)} live ones: claims have to step over them.`,
        `Look for old transactions, then run VACUUM ANALYZE ${database.schema}.job.`,
      ),
    );
  } else if (dead > deadRowsToMention && dead > live / 5) {
    findings.push(
      warning(
        "dead rows",
        `${formatCount(dead)} dead rows beside ${formatCount(live)} live ones.`,
        "Autovacuum should deal with them shortly; if the number grows, look for old transactions.",
      ),
    );
  } else {
    const size = formatBytes(number(row, "bytes"));
    findings.push(
      ok("dead rows", `${formatCount(dead)} dead and ${formatCount(live)} live rows, ${size} in all.`),
    );
  }
  if (number(row, "frozen_age") > frozenAgeLimit) {
    findings.push(
      problem(
        "wraparound",
        `The job table has not been frozen for ${formatCount(number(row, "frozen_age"))} transactions.`,
        `Run VACUUM FREEZE ${database.schema}.job, and find out what keeps autovacuum from it.`,
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

const checkPostgresIndexes = async (database: Postgres): Promise<readonly Finding[]> => {
  const rows = await database.query(indexSql, [database.schema]);
  const names = rows.map((row) => String(row["name"]));
  const broken = rows.filter((row) => row["valid"] !== true).map((row) => String(row["name"]));
  return checkIndexes(database, names, broken);
};

const notificationsLimit = 0.1;

const checkNotifications = async (database: Postgres): Promise<readonly Finding[]> => {
  const [row] = await database.query("SELECT pg_notification_queue_usage() AS used");
  const used = number(row, "used");
  const share = `${(used * 100).toFixed(1)} %`;
  return used < notificationsLimit
    ? [ok("notifications", `${share} of the server's notification queue is in use.`)]
    : [
        problem(
          "notifications",
          `${share} of the server's notification queue is in use; when it is full, NOTIFY fails.`,
          "A session that listens holds a transaction open: end it.",
        ),
      ];
};

export const checkPostgres = async (
  database: Postgres,
  options: PostgresCheckOptions,
): Promise<readonly Finding[]> => {
  const checks = [
    ["server", checkServer],
    ["transactions", checkTransactions],
    ["dead rows", checkTable],
    ["indexes", checkPostgresIndexes],
    ["notifications", checkNotifications],
  ] as const;
  const findings: Finding[] = [];
  for (const [name, check] of checks) findings.push(...(await attempt(name, () => check(database, options))));
  return findings;
};
