import { withDeadline } from "../deadline.ts";
import { BrokerTimeoutError } from "../errors.ts";
import type { HintListeners } from "./listeners.ts";
import type { ScheduledHint } from "./messages.ts";

export interface ScheduledHintsOptions {
  readonly listeners: HintListeners;
  /** Takes up to `wanted` from the hint's counter; how many it got. Absent: everyone who listens looks. */
  readonly take: ((hint: ScheduledHint, wanted: number) => Promise<number>) | undefined;
  readonly onError: (error: unknown) => void;
}

export interface ScheduledHints {
  arrived(hint: ScheduledHint): void;
  clear(): void;
}

// A flood of forged hints must not fill the memory; one that is dropped costs a poll.
const longestLine = 1_000;
const takeDeadlineMs = 2_000;

/**
 * Hints that arrive wait in line: whether a listener wants the second is known only when the first has been given out.
 * Asked at once, one idle worker would take both and leave another, somewhere else, asleep.
 */
export const createScheduledHints = ({ listeners, take, onError }: ScheduledHintsOptions): ScheduledHints => {
  let line: ScheduledHint[] = [];
  let working = false;

  const handle = async (hint: ScheduledHint): Promise<void> => {
    const { typeName, count, hintId } = hint;
    if (!take || hintId === undefined) {
      listeners.tellScheduled(typeName, Infinity);
      return;
    }
    const wanted = Math.min(listeners.wanting(typeName), count);
    if (wanted === 0) return;
    try {
      listeners.tellScheduled(
        typeName,
        await withDeadline(
          take(hint, wanted),
          takeDeadlineMs,
          () => new BrokerTimeoutError("Taking a hint", takeDeadlineMs),
        ),
      );
    } catch (error) {
      // Nothing can be counted for now; looking once too often is better than not at all.
      line = [];
      onError(error);
      listeners.tellEveryone();
    }
  };

  const work = async (): Promise<void> => {
    working = true;
    for (let hint = line.shift(); hint; hint = line.shift()) await handle(hint);
    working = false;
  };

  return {
    arrived: (hint) => {
      if (line.length >= longestLine) return;
      line.push(hint);
      if (!working) void work();
    },
    clear: () => {
      line = [];
    },
  };
};
