import { repeat, type RepeatOptions, systemBackoff } from "leasehold/adapter";
import type { ClientSession } from "mongodb";
import { type Collections, guardCollections } from "./collections.ts";
import { createCrowd, createSetAside, type Contention, type LockedElsewhere } from "./contention.ts";
import { isConflict } from "./errors.ts";
import { commit } from "./provider.ts";
import { createWork, type Work } from "./transactions.ts";

/** The server's time, asked for or estimated. */
export interface ServerClock {
  ask(): Promise<number>;
  /** An estimate of the server's clock, good enough to find candidates. Writes use the server's own time. */
  estimate(): Promise<number>;
}

/** A new primary may have another idea of the time. */
const trustedMs = 5_000;

const createServerClock = ({ jobs }: Collections): ServerClock => {
  let learned: { readonly offset: number; readonly at: number } | undefined;

  const ask = async (): Promise<number> => {
    const sent = performance.now();
    const { localTime } = await jobs.db.command({ hello: 1 });
    const received = performance.now();
    const time = (localTime as Date).getTime();
    // It was that time about halfway. The local clock may be set meanwhile, so time is measured without it.
    learned = { offset: time - (sent + received) / 2, at: received };
    return time;
  };

  return {
    ask,
    estimate: async () => {
      if (learned === undefined || performance.now() - learned.at > trustedMs) await ask();
      return Math.round(performance.now() + learned!.offset);
    },
  };
};

/** What the adapter knows about the sessions of open transactions. */
export interface Sessions {
  /** One statement at a time: the driver allows no more in a transaction. */
  enqueue<T>(session: ClientSession, run: () => Promise<T>): Promise<T>;
  /** Returns whether the transaction that the session has now is still open, at any later time. */
  watch(session: ClientSession): () => boolean;
  /** A call in the transaction has failed: nothing of it can be undone alone. */
  spoil(session: ClientSession, reason: unknown): void;
  /** Throws the reason if the transaction has been spoiled. */
  assertSound(session: ClientSession): void;
  /** The transaction of the session has written to these jobs. */
  noteLocked(session: ClientSession, ids: Iterable<string>): void;
  /** What the open transaction of this session has written to. */
  lockedBy(session: ClientSession): ReadonlySet<string>;
  /** The jobs that open transactions of this process have written to. Writing to them would mean waiting for ourselves. */
  lockedIds(): ReadonlySet<string>;
}

/** The driver makes a new object for every transaction of a session; its types do not mention it. */
const transactionOf = (session: ClientSession): object =>
  (session as { readonly transaction?: object }).transaction ?? session;

export const createSessions = (): Sessions => {
  const queues = new WeakMap<ClientSession, Promise<unknown>>();
  const spoiled = new WeakMap<object, { readonly reason: unknown }>();
  const open = new Map<object, { readonly session: ClientSession; readonly ids: Set<string> }>();

  /** The end of a transaction that the user opened is not reported. */
  const dropEnded = (): void => {
    for (const [transaction, { session }] of open)
      if (!session.inTransaction() || transactionOf(session) !== transaction) open.delete(transaction);
  };

  return {
    enqueue: (session, run) => {
      const result = (queues.get(session) ?? Promise.resolve()).then(run);
      queues.set(
        session,
        result.catch(() => undefined),
      );
      return result;
    },
    watch: (session) => {
      const transaction = transactionOf(session);
      return () => session.inTransaction() && transactionOf(session) === transaction;
    },
    spoil: (session, reason) => {
      const transaction = transactionOf(session);
      if (!spoiled.has(transaction)) spoiled.set(transaction, { reason });
    },
    assertSound: (session) => {
      const found = spoiled.get(transactionOf(session));
      if (found !== undefined) throw found.reason;
    },
    noteLocked: (session, ids) => {
      dropEnded();
      const transaction = transactionOf(session);
      const locked = open.get(transaction) ?? { session, ids: new Set() };
      for (const id of ids) locked.ids.add(id);
      open.set(transaction, locked);
    },
    lockedBy: (session) => open.get(transactionOf(session))?.ids ?? new Set(),
    lockedIds: () => {
      dropEnded();
      return new Set([...open.values()].flatMap(({ ids }) => [...ids]));
    },
  };
};

/** Lets calls about the same keys run one after the other within this process: only processes meet in conflicts. */
export type InTurn = <T>(keys: Iterable<string>, run: () => Promise<T>) => Promise<T>;

const createKeyedLock = (): InTurn => {
  const last = new Map<string, Promise<void>>();
  return async (keys, run) => {
    const own = new Set(keys);
    if (own.size === 0) return run();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    // Queues for all keys at once, so that no two calls wait for each other.
    const before = [...own].map((key) => last.get(key));
    for (const key of own) last.set(key, finished);
    await Promise.all(before);
    try {
      return await run();
    } finally {
      finish();
      for (const key of own) if (last.get(key) === finished) last.delete(key);
    }
  };
};

/** A call of the contract, with the session in place of the context. */
export interface StoreCall {
  readonly session: ClientSession | undefined;
  readonly now: number | undefined;
}

export interface Store {
  readonly collections: Collections;
  readonly clock: ServerClock;
  readonly sessions: Sessions;
  /** Jobs held by transactions of others. */
  readonly setAside: LockedElsewhere;
  readonly crowd: Contention;
  readonly inTurn: InTurn;
  /** A creation number above all earlier ones of this process. */
  nextPosition(): number;
  /** One transaction of its own, tried once. */
  attempt<T>(run: (session: ClientSession) => Promise<T>): Promise<T>;
  /** The same with the jobs as that transaction sees them. */
  attemptWork<T>(now: number, run: (work: Work) => Promise<T>): Promise<T>;
  /** In the transaction of the call, if it has one; else each read for itself. */
  read<T>(call: StoreCall, run: (work: Work) => Promise<T>): Promise<T>;
  /** In the transaction of the call, or in one of its own that is repeated when others win a conflict. */
  work<T>(call: StoreCall, run: (work: Work) => Promise<T>): Promise<T>;
  /** The same store, which calls `assertOngoing` before every command that it sends. */
  guarded(assertOngoing: () => void): Store;
}

const conflictRepetition: RepeatOptions = {
  patienceMs: 10_000,
  delay: { firstMs: 1, longestMs: 50, jitter: "full" },
  isRepeatable: (error) => isConflict(error),
};

const perform = async <T>(work: Work, run: (work: Work) => Promise<T>): Promise<T> => {
  const result = await run(work);
  await work.flush();
  return result;
};

/** Runs one after the other. */
const createQueue = (): (<T>(run: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };
};

export const createStore = (collections: Collections, sessions: Sessions): Store => {
  const clock = createServerClock(collections);
  const { client } = collections.jobs.db;
  let lastPosition = 0;
  // Transactions of this process that have lost a conflict do not disturb each other a second time.
  const retries = createQueue();

  const attempt: Store["attempt"] = async (run) => {
    const session = client.startSession();
    try {
      session.startTransaction({
        readConcern: { level: "snapshot" },
        writeConcern: { w: "majority" },
        readPreference: "primary",
      });
      const result = await run(session);
      await commit(session);
      return result;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      throw error;
    } finally {
      await session.endSession();
    }
  };

  const over = (used: Collections): Pick<Store, "collections" | "read" | "work"> => ({
    collections: used,
    read: (call, run) => run(createWork(used, call.session, call.now ?? 0)),
    work: async (call, run) => {
      const now = call.now ?? (await clock.ask());
      if (call.session !== undefined) {
        const { session } = call;
        const noteLocked = (ids: Iterable<string>) => sessions.noteLocked(session, ids);
        return perform(createWork(used, session, now, noteLocked), run);
      }
      const once = () => attempt((session) => perform(createWork(used, session, now), run));
      return repeat(systemBackoff, conflictRepetition, (run) => (run === 1 ? once() : retries(once)));
    },
  });

  const store: Store = {
    ...over(collections),
    clock,
    sessions,
    setAside: createSetAside(),
    crowd: createCrowd(),
    inTurn: createKeyedLock(),
    nextPosition: () => {
      lastPosition = Math.max(lastPosition + 1, Date.now() * 1024);
      return lastPosition;
    },
    attempt,
    attemptWork: (now, run) => attempt((session) => perform(createWork(collections, session, now), run)),
    guarded: (assertOngoing) => ({ ...store, ...over(guardCollections(collections, assertOngoing)) }),
  };
  return store;
};
