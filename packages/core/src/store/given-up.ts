/**
 * A store call in a transaction, until its caller has an answer. After its deadline the caller gets an error and ends the
 * transaction. What the call would still do runs after that end: outside any transaction, or in the next one of the connection.
 */
export interface CallInProgress {
  /** Why the caller got an error before the call had ended. */
  givenUpBy: Error | undefined;
  /** Set by a store for the other calls of the transaction, which is about to end. */
  onGiveUp?: (error: Error) => void;
}

const key = Symbol("leasehold call");

type CallContext = { readonly [key]?: CallInProgress };

/** The context for the call. A copy, because other calls have the same context. */
export const withCall = <TCtx extends object>(ctx: TCtx, call: CallInProgress): TCtx => ({
  ...ctx,
  [key]: call,
});

/** The call that has this context. None if the store was called without deadlines. */
export const callOf = (ctx: object): CallInProgress | undefined => (ctx as CallContext)[key];

export const giveUp = (call: CallInProgress, error: Error): Error => {
  call.givenUpBy = error;
  call.onGiveUp?.(error);
  return error;
};

/**
 * Why the call with this context must not do anything more, or undefined. An adapter asks before every statement that it sends
 * with a context, and rejects with this error.
 */
export const givenUpBy = (ctx: object): Error | undefined => (ctx as CallContext)[key]?.givenUpBy;
