/** Whoever sits at the terminal. */
export interface Visitor {
  /** Aborts at Ctrl-C or SIGTERM. */
  readonly leaves: AbortSignal;
  /** Whether the key for approval was pressed since the last question. */
  wantsToApprove(): boolean;
  end(): void;
}

// npm passes a Ctrl-C on that the terminal has sent to everybody already; only a later one means hurry.
const sameMomentMs = 500;
const hurriedExitCode = 130;

export const watchVisitor = (): Visitor => {
  const leaving = new AbortController();
  let leftAt: number | undefined;
  let approves = false;
  const leave = (): void => {
    const now = performance.now();
    if (leftAt !== undefined && now - leftAt > sameMomentMs) process.exit(hurriedExitCode);
    leftAt ??= now;
    leaving.abort();
  };
  const { stdin } = process;
  const readsKeys = stdin.isTTY && process.stdout.isTTY;
  const onKey = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      // While keys are read one by one, the terminal does not turn this one into a signal.
      if (key === "\u0003" || key === "q") leave();
      if (key === "a") approves = true;
    }
  };
  process.on("SIGINT", leave);
  process.on("SIGTERM", leave);
  if (readsKeys) stdin.setRawMode(true).on("data", onKey).resume();
  return {
    leaves: leaving.signal,
    wantsToApprove: () => {
      const wants = approves;
      approves = false;
      return wants;
    },
    end: () => {
      process.off("SIGINT", leave);
      process.off("SIGTERM", leave);
      if (readsKeys) stdin.off("data", onKey).setRawMode(false).pause();
    },
  };
};
