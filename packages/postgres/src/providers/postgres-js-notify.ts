import { InvalidOptionError, requireOptions } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import { type PgNotifyProvider, type PgSubscription, publishSql } from "../notify/provider.ts";
import { type PostgresJsTransactionLike, rejectSafely } from "./postgres-js-transaction.ts";
import { createStandbyExit } from "./postgres-js.ts";

/** What is used of the function that `postgres()` returns. */
export interface PostgresJsNotifyLike {
  unsafe: PostgresJsTransactionLike["unsafe"];
  listen: {
    (
      channel: string,
      onMessage: (payload: string) => void,
      onListening?: () => void,
    ): Promise<{ unlisten(): Promise<void> }>;
    /** The listening connection of the library, and its channels. */
    readonly sql?: { unsafe: PostgresJsTransactionLike["unsafe"] };
    readonly channels?: Record<string, unknown>;
  };
}

/** Options of `createPostgresJsNotifyProvider`. */
export interface PostgresJsNotifyProviderOptions {
  /** Yours. It opens a separate connection to listen. */
  readonly sql: PostgresJsNotifyLike;
}

/**
 * A notify provider over `postgres`. After a lost connection that library listens again without reporting it. Each time
 * counts as a new session, because messages may have been missed.
 */
export const createPostgresJsNotifyProvider = (
  options: PostgresJsNotifyProviderOptions,
): PgNotifyProvider => {
  const { sql } = requireOptions<keyof PostgresJsNotifyProviderOptions>(
    options,
    "createPostgresJsNotifyProvider",
    {
      sql: true,
    },
  ) as PostgresJsNotifyProviderOptions;
  const given: unknown = sql;
  if (typeof given !== "function" || !("listen" in given)) {
    throw new InvalidOptionError("sql", "must be what postgres() returns", typeof given);
  }

  const publish = async (channel: string, payloads: readonly string[]): Promise<void> => {
    const params = [channel, JSON.stringify(payloads)] as never[];
    await rejectSafely(sql.unsafe(publishSql, params, { prepare: false }));
  };

  const leaveStandby = createStandbyExit({ unsafe: (text) => sql.listen.sql!.unsafe(text) });

  /** Without this the library repeats the error while the connection is open. */
  const dropChannel = (channel: string, error: unknown): void => {
    const { channels } = sql.listen;
    if (channels) delete channels[channel];
    leaveStandby(error);
  };

  return {
    publish,
    subscribe: async (channels, { onMessage, onLost }): Promise<PgSubscription> => {
      let over = false;
      const listening = new Set<string>();
      const subscriptions: { unlisten(): Promise<void> }[] = [];
      const end = async (): Promise<void> => {
        over = true;
        await Promise.all(subscriptions.map(({ unlisten }) => unlisten().catch(() => {})));
      };
      const listen = async (channel: string, receive: (payload: string) => void): Promise<void> => {
        const onPayload = (payload: string): void => {
          if (!over) receive(payload);
        };
        const onListening = (): void => {
          if (over) return;
          if (!listening.has(channel)) listening.add(channel);
          else {
            void end();
            onLost(new Error("The listening connection was lost."));
          }
        };
        try {
          subscriptions.push(await sql.listen(channel, onPayload, onListening));
        } catch (error) {
          dropChannel(channel, error);
          throw error;
        }
      };

      // The listening connection cannot run a query, so that a ping is a message to it.
      const echoChannel = `leasehold_echo_${randomUUID().replaceAll("-", "")}`;
      let echoed = (): void => {};
      try {
        for (const channel of channels) await listen(channel, (payload) => onMessage(channel, payload));
        await listen(echoChannel, () => echoed());
      } catch (error) {
        void end();
        throw error;
      }

      return {
        ping: async () => {
          const echo = new Promise<void>((resolve) => {
            echoed = resolve;
          });
          await publish(echoChannel, [""]);
          await echo;
        },
        close: end,
      };
    },
  };
};
