import type { HintCounting } from "leasehold/adapter";
import { createHash, randomBytes } from "node:crypto";
import { plainArrayLiteral } from "../database/sql.ts";
import type { PgNotifyProvider } from "./provider.ts";

// PostgreSQL notifies every listening session. A notification of n jobs names n advisory locks, and only a process that gets one
// of them claims:
//
//   NOTIFY {"type":"mail","count":2,"hint":"00c0ffee00c0ffee"}
//     every process with an idle worker ──▶ pg_try_advisory_lock(0x00c0ffee00c0ffee), then … + 1
//     gets one ──▶ claims            gets none ──▶ keeps sleeping
//
// Such a lock is an entry in the memory of the server: it writes nothing, and ends with its session. It is held for some
// seconds, so that processes that receive the notification later do not get it.
//
// To take a lock costs a round trip before the claim. The only session with workers, as in most deployments, skips that. Each
// session shares one more lock with all others while it is open. A session that can get that lock alone has no rivals.

// A notification of more jobs names no locks: every idle process claims.
const largestCounted = 32;

const hintShape = /^[0-9a-f]{16}$/;

const lockKeys = (hintId: string, count: number): string[] => {
  if (!hintShape.test(hintId)) return [];
  const first = BigInt(`0x${hintId}`);
  return Array.from({ length: Math.min(count, largestCounted) }, (_, place) =>
    String(BigInt.asIntN(64, first + BigInt(place))),
  );
};

/** Undefined if the provider cannot take locks: then one idle worker of each process claims. */
export const createHintCounting = (provider: PgNotifyProvider): HintCounting | undefined =>
  provider.takeLocks && {
    publish: (channel, count, encode) => {
      const counter = count > largestCounted ? undefined : { hintId: randomBytes(8).toString("hex") };
      return provider.publish(channel, [encode(counter)]);
    },
    take: async ({ hintId }, count, wanted) => provider.takeLocks!(lockKeys(hintId, count), wanted),
  };

export interface SessionLocks {
  /** Takes the first `wanted` free locks of these. Returns how many it got. */
  take(keys: readonly string[], wanted: number): Promise<number>;
  /** Releases the locks that the session already had at the previous call. */
  releaseOld(): Promise<void>;
}

// The server has memory for 64 locks per allowed connection, shared by all sessions. This is a small part of that.
const mostHeld = 16;

const takeSql = `SELECT key::text FROM unnest($1::bigint[]) AS key WHERE pg_try_advisory_lock(key) LIMIT $2::int`;

const releaseSql = `SELECT pg_advisory_unlock(key)::text AS key FROM unnest($1::bigint[]) AS key`;

/** Runs a statement in the session, after the previous ones. */
type SessionQuery = (
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<readonly { readonly key: string }[]>;

const shareSql = `SELECT pg_try_advisory_lock_shared($1::bigint)::text AS key`;

const aloneSql = `SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN pg_advisory_unlock($1::bigint) ELSE false END::text AS key`;
// Long enough for all sessions that receive the same notification to share the lock.
const checkEveryMs = 1_000;

interface Rivals {
  /** At the last check, no other session took locks of notifications on these channels. */
  readonly areAbsent: boolean;
  /** Called with every notification. Checks in the background; `areAbsent` keeps its value until then. */
  check(): void;
}

const createRivals = (channels: readonly string[], query: SessionQuery): Rivals => {
  const key = String(createHash("sha256").update(channels.join("\n")).digest().readBigInt64BE());
  let isShared = false;
  let areAbsent = false;
  let checkedAt = Number.NEGATIVE_INFINITY;

  const ask = async (name: string, text: string): Promise<boolean> =>
    (await query(name, text, [key]))[0]?.key === "true";

  const refresh = async (): Promise<void> => {
    if (isShared) areAbsent = await ask("leasehold_alone", aloneSql);
    else isShared = await ask("leasehold_share", shareSql);
  };

  return {
    get areAbsent() {
      return areAbsent;
    },
    check: () => {
      const now = performance.now();
      if (now - checkedAt < checkEveryMs) return;
      checkedAt = now;
      // The listener reports a lost session.
      refresh().catch(() => {});
    },
  };
};

/** The locks of one session that listens to these channels. */
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
    // A session can take its own lock again, so these are left out.
    const others = keys.filter((key) => !held.has(key));
    if (others.length === 0 || wanted <= 0) return 0;
    // Keeps the newest: slower processes may not have received their notifications yet.
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
      rivals.check();
      return taking;
    },
    releaseOld: async () => {
      const old = hadBefore;
      hadBefore = [...held];
      await release(old);
    },
  };
};
