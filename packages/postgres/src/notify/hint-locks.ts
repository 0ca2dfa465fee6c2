import type { HintCounting } from "leasehold/adapter";
import { createHash, randomBytes } from "node:crypto";
import { plainArrayLiteral } from "../database/sql.ts";
import type { PgNotifyProvider } from "./provider.ts";

// PostgreSQL tells every session that listens. So that not all of them look for a single job, a notification of n jobs names
// n advisory locks, and whoever gets one looks:
//
//   NOTIFY {"type":"mail","count":2,"hint":"00c0ffee00c0ffee"}
//     every process with an idle worker ──▶ pg_try_advisory_lock(0x00c0ffee00c0ffee), then … + 1
//     gets one ──▶ claims            gets none ──▶ sleeps on
//
// Such a lock is an entry in the memory of the server: nothing is written, and it ends with its session. It is kept for a
// while, so that those who hear of the notification later find it taken.
//
// To ask takes a round trip before the claim. A session that is the only one with workers need not ask, and most are. Each of
// them shares one more lock with all others, as long as it lives. Whoever could have that lock alone has no rivals.

// Beyond this the jobs are enough for everybody who is idle, and everybody looks.
const largestCounted = 32;

const hintShape = /^[0-9a-f]{16}$/;

const lockKeys = (hintId: string, count: number): string[] => {
  if (!hintShape.test(hintId)) return [];
  const first = BigInt(`0x${hintId}`);
  return Array.from({ length: Math.min(count, largestCounted) }, (_, place) =>
    String(BigInt.asIntN(64, first + BigInt(place))),
  );
};

/** Undefined where the provider cannot take locks: then one idle worker of each process looks. */
export const createHintCounting = (provider: PgNotifyProvider): HintCounting | undefined =>
  provider.takeLocks && {
    publish: (channel, count, encode) => {
      const counter = count > largestCounted ? undefined : { hintId: randomBytes(8).toString("hex") };
      return provider.publish(channel, [encode(counter)]);
    },
    take: async ({ hintId }, count, wanted) => provider.takeLocks!(lockKeys(hintId, count), wanted),
  };

export interface SessionLocks {
  /** Takes the first `wanted` of these locks that nobody has, and says how many it got. */
  take(keys: readonly string[], wanted: number): Promise<number>;
  /** Releases what the session had already when this was called before. */
  releaseOld(): Promise<void>;
}

// The server has memory for 64 locks of each connection that it allows, shared by all. This many are a small part of that.
const mostHeld = 16;

const takeSql = `SELECT key::text FROM unnest($1::bigint[]) AS key WHERE pg_try_advisory_lock(key) LIMIT $2::int`;

const releaseSql = `SELECT pg_advisory_unlock(key)::text AS key FROM unnest($1::bigint[]) AS key`;

/** Runs a statement in the session, after those before. */
type SessionQuery = (
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<readonly { readonly key: string }[]>;

const shareSql = `SELECT pg_try_advisory_lock_shared($1::bigint)::text AS key`;

const aloneSql = `SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN pg_advisory_unlock($1::bigint) ELSE false END::text AS key`;
// Those who hear of a notification at the same time have all shared the lock by then.
const lookAroundEveryMs = 1_000;

interface Rivals {
  /** As far as is known, no other session takes locks of notifications on these channels. */
  readonly areAbsent: boolean;
  /** To be called with every notification. Nobody waits for the answer; until it comes, everything is as it was. */
  lookAround(): void;
}

const createRivals = (channels: readonly string[], query: SessionQuery): Rivals => {
  const key = String(createHash("sha256").update(channels.join("\n")).digest().readBigInt64BE());
  let isShared = false;
  let areAbsent = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const ask = async (name: string, text: string): Promise<boolean> =>
    (await query(name, text, [key]))[0]?.key === "true";

  const look = async (): Promise<void> => {
    if (isShared) areAbsent = await ask("leasehold_alone", aloneSql);
    else isShared = await ask("leasehold_share", shareSql);
  };

  return {
    get areAbsent() {
      return areAbsent;
    },
    lookAround: () => {
      const now = performance.now();
      if (now - lookedAt < lookAroundEveryMs) return;
      lookedAt = now;
      // If the session is lost, whoever listens hears of that elsewhere.
      look().catch(() => {});
    },
  };
};

/** The locks of one session, among those that listen to the same channels. */
export const createSessionLocks = (channels: readonly string[], query: SessionQuery): SessionLocks => {
  const rivals = createRivals(channels, query);
  /** The oldest first. */
  const held = new Set<string>();
  let hadBefore: readonly string[] = [];
  let last: Promise<unknown> = Promise.resolve();

  const release = async (keys: readonly string[]): Promise<void> => {
    const mine = keys.filter((key) => held.delete(key));
    if (mine.length > 0) await query("leasehold_unlock", releaseSql, [plainArrayLiteral(mine)]);
  };

  const takeNow = async (keys: readonly string[], wanted: number): Promise<number> => {
    // A session gets a lock that it has as often as it asks.
    const others = keys.filter((key) => !held.has(key));
    if (others.length === 0 || wanted <= 0) return 0;
    // The newest stay: who is slow may not have heard of their notifications yet.
    if (held.size >= mostHeld) await release([...held].slice(0, -mostHeld / 2));
    const taken = await query("leasehold_lock", takeSql, [plainArrayLiteral(others), wanted]);
    for (const { key } of taken) held.add(key);
    return taken.length;
  };

  return {
    take: (keys, wanted) => {
      const taking = rivals.areAbsent
        ? Promise.resolve(Math.min(keys.length, wanted))
        : last.then(() => takeNow(keys, wanted));
      last = taking.catch(() => {});
      rivals.lookAround();
      return taking;
    },
    releaseOld: async () => {
      const old = hadBefore;
      hadBefore = [...held];
      await release(old);
    },
  };
};
