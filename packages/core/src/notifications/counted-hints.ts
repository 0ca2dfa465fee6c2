import type { HintCounting } from "../contracts/notify-transport.ts";
import { withDeadline } from "../deadline.ts";
import { BrokerTimeoutError } from "../errors.ts";
import type { NotificationKind } from "./kinds.ts";
import type { NotificationListeners } from "./listeners.ts";
import type { CountedMessage } from "./messages.ts";

export interface CountedHintsOptions {
  readonly listeners: NotificationListeners;
  /** Absent: as many listeners of this process look as the message says. */
  readonly take: HintCounting["take"] | undefined;
  readonly onError: (error: unknown) => void;
}

export interface CountedHints {
  arrived(kind: NotificationKind, message: CountedMessage): void;
  clear(): void;
}

interface WaitingHint {
  readonly kind: NotificationKind;
  readonly message: CountedMessage;
}

// A flood of forged messages must not fill the memory. One that is dropped costs a poll.
const longestLine = 1_000;
const takeDeadlineMs = 2_000;
const tooLate = (): Error => new BrokerTimeoutError("Taking a notification", takeDeadlineMs);

/**
 * Hints with a counter wait in line: whether a listener wants the second is known only when the first has been given
 * out. Asked about both at once, one idle worker would take both and leave another, somewhere else, asleep.
 */
export const createCountedHints = ({ listeners, take, onError }: CountedHintsOptions): CountedHints => {
  let line: WaitingHint[] = [];
  let isWorking = false;

  const handle = async ({ kind, message }: WaitingHint, takeHint: HintCounting["take"]): Promise<void> => {
    const { name, count, counter } = message;
    const wanted = Math.min(listeners.wanting(kind, name), count);
    if (wanted === 0 || !counter) return;
    try {
      listeners.tell(
        kind,
        name,
        await withDeadline(takeHint(counter, count, wanted), takeDeadlineMs, tooLate),
      );
    } catch (error) {
      // Nothing can be counted for now. To look once too often is better than not at all.
      line = [];
      onError(error);
      listeners.tellEveryone();
    }
  };

  const work = async (takeHint: HintCounting["take"]): Promise<void> => {
    isWorking = true;
    for (let hint = line.shift(); hint; hint = line.shift()) await handle(hint, takeHint);
    isWorking = false;
  };

  return {
    arrived: (kind, message) => {
      if (!take || !message.counter) {
        listeners.tell(kind, message.name, message.count);
        return;
      }
      if (line.length >= longestLine) return;
      line.push({ kind, message });
      if (!isWorking) void work(take);
    },
    clear: () => {
      line = [];
    },
  };
};
