import type { HintCounter, HintCounting } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import type { NatsKv } from "./client.ts";

/** Counters that say how many listeners may still act on a message. */
export interface HintCounts {
  create(count: number): Promise<HintCounter>;
  readonly take: HintCounting["take"];
}

interface CounterState {
  readonly left: number;
  readonly revision: number;
}

// The server's codes for "wrong last sequence": someone else wrote first, or is just writing.
const conflictCodes: ReadonlySet<unknown> = new Set([10_071, 10_164]);

const isConflict = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, api_error: older } = error as { code?: unknown; api_error?: { err_code?: unknown } };
  return conflictCodes.has(code) || conflictCodes.has(older?.err_code);
};

export const createHintCounts = (kv: NatsKv): HintCounts => {
  const read = async (hintId: string): Promise<CounterState | undefined> => {
    const entry = await kv.get(hintId);
    return entry?.operation === "PUT"
      ? { left: Number(entry.string()), revision: entry.revision }
      : undefined;
  };

  const write = async (hintId: string, left: number, revision: number): Promise<boolean> => {
    try {
      await kv.update(hintId, String(left), revision);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  };

  return {
    create: async (count) => {
      const hintId = randomUUID();
      return { hintId, revision: await kv.create(hintId, String(count)) };
    },
    take: async ({ hintId, revision }, count, wanted) => {
      // Most counters are still untouched when their message arrives: then no read is needed. Every conflict is
      // someone else's success, and successes are limited by the count, so this ends.
      let state = revision === undefined ? await read(hintId) : { left: count, revision };
      while (state && state.left > 0) {
        const taken = Math.min(state.left, wanted);
        if (await write(hintId, state.left - taken, state.revision)) return taken;
        state = await read(hintId);
      }
      return 0;
    },
  };
};
