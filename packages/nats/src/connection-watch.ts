import { type NatsClient, NatsUnavailableError } from "./client.ts";

export interface ConnectionWatch {
  readonly connected: boolean;
  stop(): void;
}

/** Follows the connection. The client reconnects, and subscribes again before it reports the connection. */
export const watchConnection = (
  nc: NatsClient,
  onReconnect: () => void,
  onError: (error: unknown) => void,
): ConnectionWatch => {
  let connected = true;
  let stopped = false;
  const statuses = nc.status();

  const follow = async (): Promise<void> => {
    for await (const status of statuses) {
      if (stopped) return;
      const { type } = status;
      // For example when the server refuses a subject. One client gives more detail than the other.
      if (type === "error") onError("error" in status ? status.error : status);
      if (type === "disconnect") {
        connected = false;
        onError(new NatsUnavailableError("The connection to NATS is lost; it will be tried again."));
      }
      if (type === "reconnect") {
        connected = true;
        onReconnect();
      }
    }
  };
  const awaitEnd = async (): Promise<void> => {
    const reason = await nc.closed();
    connected = false;
    if (stopped) return;
    const message = "The connection to NATS was closed; there are no more notifications.";
    onError(new NatsUnavailableError(message, reason ? { cause: reason } : undefined));
  };
  follow().catch(onError);
  awaitEnd().catch(onError);

  return {
    get connected() {
      return connected;
    },
    stop: () => {
      stopped = true;
      // Both clients' iterators can be stopped, though their types do not say so.
      (statuses as { stop?: () => void }).stop?.();
    },
  };
};
