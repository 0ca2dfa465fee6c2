import type { ChannelName } from "../notify/contract.ts";
import type { NotifyAdapter } from "../notify/contract.ts";

/** Connections to the broker that share channels of their own. */
export interface BrokerConnections {
  /** One notify adapter for each connection. Called once, perhaps while the broker is down. */
  createAdapters(): Promise<readonly NotifyAdapter[]>;
  /** Publishes without an adapter, as someone who means harm would. */
  publish(channel: ChannelName, message: string | Uint8Array): unknown;
  /** Resolves when the first connection has noticed that the broker is gone. Called before that happens. */
  lost(): Promise<unknown>;
  /** The adapters are closed by then. */
  close(): Promise<unknown>;
}

/** A broker that the tests may kill. */
export interface BrokerFixture {
  connect(count: number): Promise<BrokerConnections>;
  /** Kills the broker, without a shutdown. */
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}
