import type { NotifyTransport } from "../notify/contract.ts";

/** Two transports to the same channels, for the suite. */
export interface NotifyTransportsUnderTest {
  /** Two transports to the same channels that have not subscribed yet, as two processes would have them. */
  readonly transport: NotifyTransport;
  readonly peer: NotifyTransport;
  /** Removes what `create` made. The suite has closed the transports by then. */
  destroy(): Promise<void>;
}

/** All that a transport's own test file has to provide. */
export interface NotifyTransportFixture {
  create(): Promise<NotifyTransportsUnderTest>;
  /** Whether the transports have `counting`. */
  readonly countsHints: boolean;
}
