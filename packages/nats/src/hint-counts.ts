import { randomUUID } from "node:crypto";
import type { NatsKv } from "./client.ts";
import type { ScheduledHint } from "leasehold/adapter";

/** Counters that say how many listeners may still take a hint. */
export interface HintCounts {
  /** A new counter; what a hint has to carry of it. */
  create(count: number): Promise<{ readonly hintId: string; readonly revision: number }>;
  /** Takes up to `wanted`; how many it got. */
  take(hint: ScheduledHint, wanted: number): Promise<number>;
}

interface Counter {
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
  const read = async (hintId: string): Promise<Counter | undefined> => {
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
    take: async ({ hintId, count, revision }, wanted) => {
      if (hintId === undefined) return 0;
      // Most hints are still untouched when they arrive: then no read is needed. Every conflict is someone else's
      // success, and successes are limited by the count, so this ends.
      let counter = revision === undefined ? await read(hintId) : { left: count, revision };
      while (counter && counter.left > 0) {
        const taken = Math.min(counter.left, wanted);
        if (await write(hintId, counter.left - taken, counter.revision)) return taken;
        counter = await read(hintId);
      }
      return 0;
    },
  };
};
