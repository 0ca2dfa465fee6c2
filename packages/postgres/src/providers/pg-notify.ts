import { NotifyTimeoutError, InvalidOptionError, requireOptions, withDeadline } from "leasehold/adapter";
import { createSessionLocks, type SessionLocks } from "../notify/hint-locks.ts";
import {
  type PgNotifyProvider,
  type PgSubscription,
  type PgSubscriptionHandlers,
  publishSql,
} from "../notify/provider.ts";
import type { PgClientLike } from "./pg-pool.ts";

/** What is used of a client of `pg` that listens. */
export interface PgListeningClientLike {
  query(statement: string | Parameters<PgClientLike["query"]>[0]): Promise<unknown>;
  on(
    event: "notification",
    listener: (message: { channel: string; payload?: string | undefined }) => void,
  ): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  removeAllListeners?(event: string): unknown;
}

/** The part of a pool of `pg` that notifications use. */
export interface PgNotifyPoolLike {
  connect(): Promise<PgListeningClientLike & { release(destroy?: boolean): void }>;
  query: PgClientLike["query"];
}

export interface PgDedicatedClientLike extends PgListeningClientLike {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** Options of `createPgPoolNotifyProvider`. */
export interface PgNotifyProviderOptions {
  /** Yours. Sends notifications until a client listens. Without `createClient` that client is one of the pool. */
  readonly pool: PgNotifyPoolLike;
  /**
   * Makes the client that listens, not yet connected: `() => new pg.Client(…)`. Needed when the pool goes through a
   * pooler in transaction mode.
   */
  readonly createClient?: (() => PgDedicatedClientLike) | undefined;
  /** As for the state provider. Default: true, unless there is a `createClient`. */
  readonly prepareStatements?: boolean | undefined;
}

type Statement = Parameters<PgClientLike["query"]>[0];

/** A session that listens. */
interface Listening {
  readonly client: PgListeningClientLike;
  /** Runs a statement after the previous ones: a client of `pg` takes one at a time. */
  query(statement: Statement): Promise<unknown>;
  readonly locks: SessionLocks;
}

const createListening = (client: PgListeningClientLike, channels: readonly string[]): Listening => {
  let last: Promise<unknown> = Promise.resolve();
  const query = (statement: Statement): Promise<unknown> => {
    const answer = last.then(() => client.query(statement));
    last = answer.catch(() => {});
    return answer;
  };
  // A listening session is never behind a pooler in transaction mode, so that statements can be prepared.
  const locks = createSessionLocks(channels, async (name, text, values) => {
    const { rows } = (await query({ name, text, values: [...values] })) as { rows: { key: string }[] };
    return rows;
  });
  return { client, query, locks };
};

interface Session {
  readonly client: PgListeningClientLike;
  end(): Promise<void>;
}

// The transaction does not wait for the disk, so a healthy server answers within a few milliseconds.
const longestAnswerMs = 250;

const noAnswer = (): Error => new NotifyTimeoutError("NOTIFY", longestAnswerMs);

/** A notify provider over `pg`. */
export const createPgPoolNotifyProvider = (options: PgNotifyProviderOptions): PgNotifyProvider => {
  const {
    pool,
    createClient,
    prepareStatements = createClient === undefined,
  } = requireOptions<keyof PgNotifyProviderOptions>(options, "createPgPoolNotifyProvider", {
    pool: true,
    createClient: true,
    prepareStatements: true,
  }) as PgNotifyProviderOptions;
  if (typeof pool?.connect !== "function" || typeof pool.query !== "function") {
    throw new InvalidOptionError("pool", "must be a Pool of pg", typeof pool);
  }

  // The listening client is mostly idle, so it sends notifications as well, one at a time. That takes no connection from jobs.
  let listening: Listening | undefined;
  let isSending = false;

  const openSession = async (onError: (error: unknown) => void): Promise<Session> => {
    if (createClient) {
      const client = createClient();
      client.on("error", onError);
      await client.connect();
      return { client, end: () => client.end() };
    }
    const client = await pool.connect();
    client.on("error", onError);
    // Destroyed rather than returned to the pool, because it listens.
    return { client, end: async () => client.release(true) };
  };

  const subscribe = async (
    channels: readonly string[],
    { onMessage, onLost }: PgSubscriptionHandlers,
  ): Promise<PgSubscription> => {
    let over = false;
    let session: Session | undefined;
    const stopUsing = (): void => {
      if (listening?.client === session?.client) listening = undefined;
    };
    const lose = (reason: unknown): void => {
      if (over) return;
      over = true;
      stopUsing();
      // The connection may still be half open.
      session?.end().catch(() => {});
      onLost(reason);
    };
    session = await openSession(lose);
    const { client } = session;
    client.on("notification", ({ channel, payload }) => onMessage(channel, payload ?? ""));
    client.on("end", () => lose(new Error("The listening connection ended.")));
    try {
      for (const channel of channels) await client.query(`LISTEN "${channel}"`);
    } catch (error) {
      over = true;
      await session.end().catch(() => {});
      throw error;
    }
    const opened = createListening(client, channels);
    listening = opened;
    return {
      ping: async () => {
        await opened.locks.releaseOld();
        await opened.query({ text: "SELECT 1", values: [] });
      },
      close: async () => {
        if (over) return;
        over = true;
        stopUsing();
        await session.end();
      },
    };
  };

  return {
    publish: async (channel, payloads) => {
      const statement = {
        text: publishSql,
        values: [channel, JSON.stringify(payloads)],
        ...(prepareStatements ? { name: "leasehold_notify" } : {}),
      };
      if (!listening || isSending) {
        await pool.query(statement);
        return;
      }
      isSending = true;
      const sent = listening.query(statement).finally(() => {
        isSending = false;
      });
      // A connection whose other end is gone never answers. A notification that arrives twice costs one claim.
      await withDeadline(sent, longestAnswerMs, noAnswer).catch(() => pool.query(statement));
    },
    subscribe,
    takeLocks: async (keys, wanted) => {
      if (!listening) throw new Error("There is no listening connection.");
      return listening.locks.take(keys, wanted);
    },
  };
};
