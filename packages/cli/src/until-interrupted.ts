/**
 * Runs work that must be tidied up after: at SIGINT or SIGTERM the signal aborts, and only a second one ends the process
 * at once, as it would without this.
 */
export const untilInterrupted = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const interruption = new AbortController();
  const interrupt = (): void => {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
    interruption.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
};
