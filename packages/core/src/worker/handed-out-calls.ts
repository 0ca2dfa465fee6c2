export type HandedOutCall = "prepare" | "complete";

const ignore = (): void => {};

/** For a promise that a handler may forget to await: its rejection must not end the process. */
export const handled = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(ignore);
  return promise;
};

/** Follows the calls of one attempt to `prepare` and `complete`: a handler may forget their promises, the attempt does not. */
export interface HandedOutCalls {
  follow<T>(name: HandedOutCall, call: Promise<T>): Promise<T>;
  /** The first call that has not settled. */
  readonly open: HandedOutCall | undefined;
  /** Resolves when no call is open any more. */
  settled(): Promise<void>;
  /** What the first call that failed was rejected with. Whether the handler has seen it, nobody can tell. */
  readonly failure: { readonly error: unknown } | undefined;
}

export const createHandedOutCalls = (): HandedOutCalls => {
  const open = new Map<Promise<unknown>, HandedOutCall>();
  let failure: { readonly error: unknown } | undefined;
  return {
    follow: (name, call) => {
      open.set(call, name);
      call.then(
        () => open.delete(call),
        (error: unknown) => {
          open.delete(call);
          failure ??= { error };
        },
      );
      return call;
    },
    settled: async () => {
      while (open.size > 0) await Promise.allSettled(open.keys());
    },
    get open() {
      return open.values().next().value;
    },
    get failure() {
      return failure;
    },
  };
};
