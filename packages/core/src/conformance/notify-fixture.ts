import type { NotifyAdapter } from "../notify/contract.ts";

export interface NotifyAdapterUnderTest {
  readonly adapter: NotifyAdapter;
  /** A second connection to the same channels, as another process would have. In-process it may be the same object. */
  readonly peer: NotifyAdapter;
  /** Closes both and removes what `create` made. */
  destroy(): Promise<void>;
}

/** All that a transport's own test file has to provide. */
export interface NotifyAdapterFixture {
  create(): Promise<NotifyAdapterUnderTest>;
  /** Whether the transport keeps to the count of a hint; one that cannot wakes every listener. */
  readonly countsHints: boolean;
}
