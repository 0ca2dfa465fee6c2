type SignalListener = (signal: NodeJS.Signals) => void;

type Host = Pick<NodeJS.Process, "on" | "off" | "exit">;

// npm and npx pass on the Ctrl-C that the terminal has sent to the whole group already.
export const sameMomentMs = 500;

/**
 * The process as `stopOnSignals` sees it: a signal that comes twice in the same moment counts once, and instead of an
 * exit right after a stop, `onStopped` gets its code, so that the command can clean up.
 */
export const signalSource = (onStopped: (code: number) => void, onFirst: () => void): Host => {
  const wrappers = new Map<unknown, SignalListener>();
  let firstAt: number | undefined;
  const host = {
    on: (signal: NodeJS.Signals, listener: SignalListener) => {
      const wrapper: SignalListener = (received) => {
        const now = performance.now();
        if (firstAt !== undefined && now - firstAt < sameMomentMs) return;
        if (firstAt === undefined) onFirst();
        firstAt ??= now;
        listener(received);
      };
      wrappers.set(listener, wrapper);
      process.on(signal, wrapper);
    },
    off: (signal: NodeJS.Signals, listener: SignalListener) => {
      process.off(signal, wrappers.get(listener) ?? listener);
    },
    exit: (code?: number) => {
      // A second signal: at once, as asked for.
      if (code !== undefined && code > 128) process.exit(code);
      onStopped(code ?? 0);
    },
  };
  return host as unknown as Host;
};

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
