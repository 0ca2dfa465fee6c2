export interface Lifetimes {
  /** Passes a signal that is aborted after a time, with another signal, or with `close`. It ends with the work. */
  during<T>(
    limits: { readonly until?: AbortSignal; readonly ms: number },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  readonly isClosed: boolean;
  /** Aborts all signals. Idempotent. */
  close(): void;
}

/**
 * The signals of requests. `AbortSignal.any` with a signal that lives as long as the process would do the same, but in Node.js 20
 * such a signal keeps a reference to each one that was made of it.
 */
export const createLifetimes = (): Lifetimes => {
  const open = new Set<AbortController>();
  let isClosed = false;
  return {
    during: async ({ until, ms }, work) => {
      const controller = new AbortController();
      const end = (): void => controller.abort();
      const timer = setTimeout(end, ms);
      timer.unref();
      until?.addEventListener("abort", end, { once: true });
      open.add(controller);
      if (isClosed || until?.aborted === true) end();
      try {
        return await work(controller.signal);
      } finally {
        clearTimeout(timer);
        until?.removeEventListener("abort", end);
        open.delete(controller);
      }
    },
    get isClosed() {
      return isClosed;
    },
    close: () => {
      isClosed = true;
      for (const controller of open) controller.abort();
    },
  };
};
