import { isFromReadOnlyServer } from "../transient-errors.ts";
import type { PostgresJsTransactionLike } from "./postgres-js.ts";

// The server ends a session that is idle for a millisecond. It says so while nobody waits for an answer, so no query fails.
const endOnStandby = `SELECT pg_backend_pid() AS pid,
  CASE WHEN pg_is_in_recovery() THEN set_config('idle_session_timeout', '1', false) END AS timeout`;

const mostConnections = 100;
const deadlineMs = 1_000;

/**
 * Ends the connections of a pool that lead to a standby, after an error that only a standby can be the reason for.
 *
 * The library looks for a primary when it connects (`target_session_attrs`). But if the server has ended the connection while a
 * query was running, the next time it connects it takes any host. Such a connection would stay in the pool, and every write on it
 * would fail. Nor can a single connection be closed. So all that are open are visited: the library uses the one next that has
 * not been used for the longest time.
 */
export const createStandbyExit = (sql: {
  unsafe: PostgresJsTransactionLike["unsafe"];
}): ((error: unknown) => void) => {
  let isUnderWay = false;

  const visit = async (): Promise<string> => {
    const [row] = await sql.unsafe(endOnStandby);
    const { pid, timeout } = row as { pid: number; timeout: string | null };
    return `${pid} ${timeout}`;
  };
  const visitAll = async (): Promise<void> => {
    const visited = new Set<string>();
    while (visited.size < mostConnections) {
      const session = await visit();
      if (visited.has(session)) return;
      visited.add(session);
    }
  };

  const leave = async (): Promise<void> => {
    isUnderWay = true;
    // A server that hangs must not prevent the next visit.
    const deadline = setTimeout(() => (isUnderWay = false), deadlineMs);
    deadline.unref();
    try {
      await visitAll();
    } catch {
      // What fails here fails for others, too: they call again.
    }
    clearTimeout(deadline);
    isUnderWay = false;
  };

  return (error) => {
    if (!isUnderWay && isFromReadOnlyServer(error)) void leave();
  };
};
