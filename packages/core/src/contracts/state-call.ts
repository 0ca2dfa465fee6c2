/** What a provider gives user code as its database handle. Its shape is the provider's own. */
export type BaseStateAdapterContext = object;

/** Every method takes these two. */
export interface StateCall<TTxContext> {
  /** Run inside this open transaction. Without it the call is a transaction of its own. */
  readonly ctx?: TTxContext | undefined;
  /** Replaces the store's clock, for tests and simulations. */
  readonly now?: number | undefined;
}

/** A call that only reads, and that a store may answer from a copy of its data. */
export interface StateRead<TTxContext> extends StateCall<TTxContext> {
  /** An answer that was right some moments ago will do. It makes no difference inside a transaction. */
  readonly mayLag?: boolean | undefined;
}

/** A call that only makes sense inside a transaction. */
export interface StateCallInTransaction<TTxContext> extends StateCall<TTxContext> {
  readonly ctx: TTxContext;
}
