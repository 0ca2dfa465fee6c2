/**
 * The transaction context, spread in beside the options of a call. With all of it, the call is part of that transaction.
 * Without it, the call is a transaction of its own. A part of the context is refused.
 *
 * If the type of the context is not known, any other property is accepted.
 */
export type TransactionOption<TTxContext> = 0 extends 1 & TTxContext
  ? // oxlint-disable-next-line typescript/no-explicit-any -- an unknown context is no reason to give up the options' types
    { readonly [key: string]: any }
  : TTxContext | { readonly [K in keyof TTxContext]?: never };
