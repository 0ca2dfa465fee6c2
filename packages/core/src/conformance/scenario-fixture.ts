import type { NotifyAdapter } from "../notify/contract.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";

/** The adapters that a story runs on. */
export interface ScenarioStores {
  readonly stateAdapter: AnyStateAdapter;
  /** Left out, workers and waiters find everything by polling. */
  readonly notifyAdapter?: NotifyAdapter | undefined;
  /** Closes the adapters and removes what `create` made. */
  destroy(): Promise<void>;
}

/** All that an adapter's own test file has to provide. */
export interface ScenarioFixture {
  /** Adapters over an empty store of their own. */
  create(): Promise<ScenarioStores>;
  /** How often workers and waiters look when no hint arrives. Default: every 10 ms. */
  readonly pollIntervalMs?: number | undefined;
}
