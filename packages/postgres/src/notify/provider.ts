/** A session that listens. */
export interface PgSubscription {
  /** Resolves when the session answers; rejects when it does not. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What a listening connection reports. */
export interface PgSubscriptionHandlers {
  readonly onMessage: (channel: string, payload: string) => void;
  /** The session is gone. Not called for one that was closed. */
  readonly onLost: (error: unknown) => void;
}

/** How the notify adapter reaches PostgreSQL. Ready-made for `pg` and `postgres`. */
export interface PgNotifyProvider {
  /** `NOTIFY` with each payload, in one short transaction of its own, on any connection. */
  publish(channel: string, payloads: readonly string[]): Promise<void>;

  /**
   * Opens a session of its own that listens to these channels; resolves when it does. A pooler in transaction mode
   * cannot carry it: connect to the server itself.
   */
  subscribe(channels: readonly string[], handlers: PgSubscriptionHandlers): Promise<PgSubscription>;

  /**
   * Takes session-level advisory locks with these keys, bigints as text, in the session that listens: the first `wanted` free
   * ones. Resolves with how many it got, without locks that the session already has. The locks are held for some seconds if
   * possible. Without this method notifications are not counted, and one idle worker of each process claims.
   */
  takeLocks?(keys: readonly string[], wanted: number): Promise<number>;
}

/**
 * One statement for all payloads, which are passed as one text. The transaction does not wait for the disk, so that listeners
 * receive it sooner: a notification lost in a crash does no harm.
 */
export const publishSql = `WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
SELECT pg_notify($1, payload)::text FROM unhurried, json_array_elements_text($2::text::json) AS payload`;
