import { randomUUID } from "node:crypto";
import { BrokerTimeoutError, encodeScheduled, type ScheduledHint, withDeadline } from "leasehold/adapter";
import type { RedisNotifyProvider } from "./provider.ts";

// A client that has lost its connection may keep a command for as long as that takes.
const commandDeadlineMs = 1_000;

/** How long a counter outlives its hint. Who hears of it later than that finds none, and polls. */
const counterTtlMs = 10_000;

const publishScript = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";

// The counter exists before anyone hears of it.
const announceScript = `
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('PUBLISH', ARGV[3], ARGV[4])`;

const takeScript = `
local left = tonumber(redis.call('GET', KEYS[1])) or 0
local taken = math.min(left, tonumber(ARGV[1]))
if taken <= 0 then return 0 end
if taken == left then redis.call('DEL', KEYS[1]) else redis.call('DECRBY', KEYS[1], taken) end
return taken`;

export interface RedisCommands {
  publish(channel: string, message: string): Promise<void>;
  /** Publishes a hint with a counter that says how many listeners may take it. */
  announce(channel: string, typeName: string, count: number): Promise<void>;
  /** Takes up to `wanted` from the hint's counter; how many it got. */
  take(hint: ScheduledHint, wanted: number): Promise<number>;
}

/**
 * Everything goes through scripts whose key has the prefix as its hash tag, so that a cluster sends it through one
 * node, in order; a plain PUBLISH would go through any. It costs that node nothing more: every node of a cluster passes
 * on every message anyway.
 */
export const createRedisCommands = (provider: RedisNotifyProvider, prefix: string): RedisCommands => {
  const evaluate = (script: string, key: string, args: readonly string[]): Promise<unknown> =>
    withDeadline(
      provider.evaluate(script, `{${prefix}}:${key}`, args),
      commandDeadlineMs,
      () => new BrokerTimeoutError("EVAL", commandDeadlineMs),
    );
  return {
    publish: async (channel, message) => {
      await evaluate(publishScript, "publish", [channel, message]);
    },
    announce: async (channel, typeName, count) => {
      const hintId = randomUUID();
      const message = encodeScheduled({ typeName, count, hintId });
      await evaluate(announceScript, `hint:${hintId}`, [
        String(count),
        String(counterTtlMs),
        channel,
        message,
      ]);
    },
    take: async ({ hintId }, wanted) => {
      if (hintId === undefined) return 0;
      return Number(await evaluate(takeScript, `hint:${hintId}`, [String(wanted)]));
    },
  };
};
