import type { ObservabilityAdapter } from "leasehold";

export interface Story {
  /** Hears of everything that happens to jobs in this process. */
  readonly observe: ObservabilityAdapter;
  readonly retries: number;
  readonly deadLetters: readonly { readonly id: string; readonly typeName: string; readonly text: string }[];
  /** From placing an order to its e-mail. */
  readonly orderDurations: readonly number[];
  tell(line: string): void;
  /** The last lines, oldest first. */
  recent(count: number): readonly string[];
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Collects what is worth telling. `print` gets each line at once; leave it out to ask for the recent ones. */
export const createStory = (print: (line: string) => void = () => {}): Story => {
  const lines: string[] = [];
  const deadLetters: { id: string; typeName: string; text: string }[] = [];
  const orderDurations: number[] = [];
  let retries = 0;
  let ticks = 0;
  const tell = (line: string): void => {
    const stamped = `${new Date().toISOString().slice(11, 19)}  ${line}`;
    lines.push(stamped);
    print(stamped);
  };
  return {
    observe: {
      jobAttemptFailed: ({ typeName, attempt, retryInMs, error }) => {
        if (retryInMs === null) return;
        retries += 1;
        tell(`↻ ${typeName}, attempt ${attempt}: ${text(error)} Again in ${Math.round(retryInMs)} ms.`);
      },
      jobFailed: ({ id, typeName, error }) => {
        deadLetters.push({ id, typeName, text: text(error) });
        tell(`✗ ${typeName} is a dead letter: ${text(error)}`);
      },
      jobCompleted: ({ typeName }) => {
        if (typeName === "daily-report") tell("✓ The report that was scheduled has run.");
      },
      recurringJobTicked: ({ recurringJobId, result }) => {
        ticks += 1;
        // Once is enough: it comes every two seconds.
        if (ticks === 1) tell(`⏲ The recurring job ${recurringJobId}: ${result}.`);
      },
      jobSequenceDuration: ({ sequenceTypeName, durationMs }) => {
        if (sequenceTypeName === "order") orderDurations.push(durationMs);
      },
    },
    get retries() {
      return retries;
    },
    deadLetters,
    orderDurations,
    tell,
    recent: (count) => lines.slice(-count),
  };
};
