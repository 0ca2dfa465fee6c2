import type { StateCall } from "./calls.ts";

/** Something a person did to jobs. */
export interface NewAction {
  readonly id: string;
  /** Who. */
  readonly actor: string;
  /** What, such as `redrive`. */
  readonly kind: string;
  /** What it was about to do, as text that only core can read. */
  readonly plan: string;
  /** What came of it, as text that only core can read; null while it is under way. */
  readonly result: string | null;
}

export interface StateAction extends NewAction {
  readonly startedAt: number;
  /** When the result was last written; null while there is none. */
  readonly changedAt: number | null;
}

export interface ReplaceActionResultCall {
  readonly id: string;
  /** The result that the entry is expected to have. */
  readonly from: string | null;
  readonly to: string;
}

export interface ListActionsCall {
  readonly limit: number;
  /** The last one of the page before; null for the first page. */
  readonly after: { readonly startedAt: number; readonly id: string } | null;
}

/** The log of actions. Entries are written before the action begins, and are never deleted by it. */
export interface Actions<TTxContext> {
  /** Adds an entry, or, where there is one with this id, replaces its result. Nothing else of an entry ever changes. */
  recordAction(call: StateCall<TTxContext> & { readonly action: NewAction }): Promise<void>;

  /**
   * Replaces the result of an entry only if it still is `from`, and says whether it was. Of several who expect the same, one
   * succeeds: that is how an action has one process at a time.
   */
  replaceActionResult(call: StateCall<TTxContext> & ReplaceActionResultCall): Promise<boolean>;

  getActions(
    call: StateCall<TTxContext> & { readonly ids: readonly string[] },
  ): Promise<(StateAction | undefined)[]>;

  /** The latest first, by `startedAt`, then by the bytes of `id`. */
  listActions(call: StateCall<TTxContext> & ListActionsCall): Promise<StateAction[]>;
}
