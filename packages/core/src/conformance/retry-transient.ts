import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";

const mostTries = 100;

/** Makes the call again for as long as the store says that may help, as core does. */
export const retryTransient = async <T>(
  { adapter }: { readonly adapter: AnyStateAdapter },
  call: () => Promise<T>,
): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (tries === mostTries || !adapter.isTransientError(error)) throw error;
    }
  }
};
