import { NotifyTimeoutError, type HintCounting, withDeadline } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import type { RedisNotifyProvider } from "./provider.ts";

// A client that has lost its connection may keep a command for as long as that takes.
const commandDeadlineMs = 1_000;

const tooLate = (): Error => new NotifyTimeoutError("EVAL", commandDeadlineMs);

/** How long a counter outlives its message. A process that receives the message later finds no counter, and polls. */
const counterTtlMs = 10_000;

const publishScript = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";

// The counter exists before the message is published.
const publishCountedScript = `
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
  readonly counting: HintCounting;
}

/**
 * Everything goes through scripts whose key has the prefix as its hash tag. A cluster then sends it through one node,
 * in order; a plain PUBLISH would go through any node. It costs that node nothing more, because every node of a
 * cluster passes on every message anyway.
 */
export const createRedisCommands = (provider: RedisNotifyProvider, prefix: string): RedisCommands => {
  const evaluate = (script: string, key: string, args: readonly string[]): Promise<unknown> =>
    withDeadline(provider.evaluate(script, `{${prefix}}:${key}`, args), commandDeadlineMs, tooLate);
  return {
    publish: async (channel, message) => {
      await evaluate(publishScript, "publish", [channel, message]);
    },
    counting: {
      publish: async (channel, count, encode) => {
        const hintId = randomUUID();
        const args = [String(count), String(counterTtlMs), channel, encode({ hintId })];
        await evaluate(publishCountedScript, `hint:${hintId}`, args);
      },
      take: async ({ hintId }, _count, wanted) =>
        Number(await evaluate(takeScript, `hint:${hintId}`, [String(wanted)])),
    },
  };
};
