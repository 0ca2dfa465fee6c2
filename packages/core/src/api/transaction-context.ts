/**
 * The transaction context, spread in beside the options of a call: all of it, and the call becomes part of that
 * transaction, or none of it, and the call is a transaction of its own. A part of it is refused.
 *
 * For a context of unknown type anything may stand beside the options.
 */
export type TransactionOption<TTxContext> = 0 extends 1 & TTxContext
  ? // oxlint-disable-next-line typescript/no-explicit-any -- an unknown context is no reason to give up the options' types
    { readonly [key: string]: any }
  : TTxContext | { readonly [K in keyof TTxContext]?: never };
