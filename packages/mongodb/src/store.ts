import { setTimeout as sleep } from "node:timers/promises";
import type { ClientSession } from "mongodb";
import { createServerClock, type ServerClock } from "./clock.ts";
import type { Collections } from "./collections.ts";
import { commit } from "./commit.ts";
import { type Crowd, createCrowd } from "./crowd.ts";
import type { Sessions } from "./sessions.ts";
import { createSetAside, type SetAside } from "./set-aside.ts";
import { isConflict } from "./transient-errors.ts";
import { createTurns, type InTurn } from "./turns.ts";
import { createWork, type Work } from "./work.ts";

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
  readonly setAside: SetAside;
  readonly crowd: Crowd;
  readonly inTurn: InTurn;
  /** A place in line behind all that this process has created before. */
  nextPosition(): number;
  /** One transaction of its own, tried once. */
  attempt<T>(run: (session: ClientSession) => Promise<T>): Promise<T>;
  /** The same with the jobs as that transaction sees them. */
  attemptWork<T>(now: number, run: (work: Work) => Promise<T>): Promise<T>;
  /** In the transaction of the call, if it has one; else each read for itself. */
  read<T>(call: StoreCall, run: (work: Work) => Promise<T>): Promise<T>;
  /** In the transaction of the call, or in one of its own that is repeated when others win a conflict. */
  work<T>(call: StoreCall, run: (work: Work) => Promise<T>): Promise<T>;
}

const longestDelayMs = 50;
const patienceMs = 10_000;

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

/** Repeats what meets a conflict, with growing random pauses. */
const untilUndisturbed = async <T>(first: () => Promise<T>, again: () => Promise<T>): Promise<T> => {
  const end = performance.now() + patienceMs;
  let run = first;
  for (let delay = 1; ; delay = Math.min(2 * delay, longestDelayMs)) {
    try {
      return await run();
    } catch (error) {
      if (!isConflict(error) || performance.now() > end) throw error;
    }
    await sleep(Math.random() * delay);
    run = again;
  }
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

  return {
    collections,
    clock,
    sessions,
    setAside: createSetAside(),
    crowd: createCrowd(),
    inTurn: createTurns(),
    nextPosition: () => {
      lastPosition = Math.max(lastPosition + 1, Date.now() * 1024);
      return lastPosition;
    },
    attempt,
    attemptWork: (now, run) => attempt((session) => perform(createWork(collections, session, now), run)),
    read: (call, run) => run(createWork(collections, call.session, call.now ?? 0)),
    work: async (call, run) => {
      const now = call.now ?? (await clock.ask());
      if (call.session !== undefined) {
        const { session } = call;
        const noteLocked = (ids: Iterable<string>) => sessions.noteLocked(session, ids);
        return perform(createWork(collections, session, now, noteLocked), run);
      }
      const once = () => attempt((session) => perform(createWork(collections, session, now), run));
      return untilUndisturbed(once, () => retries(once));
    },
  };
};
