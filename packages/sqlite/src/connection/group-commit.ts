import type { BusyRetry } from "./busy-retry.ts";
import type { SqliteConnection } from "./connection.ts";
import { rollBackAfter } from "./roll-back.ts";

/**
 * Who may use the writing connection. A hold has it alone until it is released. Writes that meet in the same turn of
 * the event loop, or while the connection is taken, share one transaction and so one wait for the disk.
 *
 *   in order of arrival:   w w w H w w
 *   what happens:          [BEGIN w w w COMMIT] [H … release] [BEGIN w w COMMIT]
 */
export interface WriteQueue {
  /** Runs `action`, which must not wait for anything and may be run again, in a transaction. */
  write<T>(action: () => T): Promise<T>;
  /** Resolves when the connection is the caller's, with what gives it back. */
  hold(): Promise<() => void>;
  isHeld(): boolean;
  /** Refuses all that wait, and resolves when nobody uses the connection any more. */
  end(reason: Error): Promise<void>;
}

interface Write {
  readonly kind: "write";
  readonly action: () => unknown;
  /** One member of a group took the whole transaction with it; the others then try alone. */
  alone: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Hold {
  readonly kind: "hold";
  grant(release: () => void): void;
  reject(error: unknown): void;
}

interface Done {
  readonly write: Write;
  readonly value: unknown;
}

// A longer transaction would keep other processes from writing, and this one from everything else.
const longestGroupMs = 10;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export interface WriteQueueOptions {
  readonly db: SqliteConnection;
  readonly retryBusy: BusyRetry;
  readonly onCommit: () => void;
}

export const createWriteQueue = ({ db, retryBusy, onCommit }: WriteQueueOptions): WriteQueue => {
  let waiting: (Write | Hold)[] = [];
  let served = 0;
  let held = false;
  let draining: Promise<void> | undefined;

  const head = (): Write | Hold | undefined => waiting[served];

  const take = (): void => {
    served += 1;
    // Shifting one by one would cost a copy of the whole line each time.
    if (served === waiting.length || served > 1_000) {
      waiting = waiting.slice(served);
      served = 0;
    }
  };

  const rejectWrites = (error: unknown): void => {
    for (let next = head(); next?.kind === "write"; next = head()) {
      take();
      next.reject(error);
    }
  };

  /** Undoes one member of a group. False when its error has ended the whole transaction. */
  const undo = (): boolean => {
    try {
      db.exec("ROLLBACK TO leasehold_write; RELEASE leasehold_write");
      return true;
    } catch {
      return false;
    }
  };

  /** Runs the writes that are first in line. Undefined when one that failed has taken the others with it. */
  const runWrites = (): Done[] | undefined => {
    const done: Done[] = [];
    const deadline = performance.now() + longestGroupMs;
    const isGroup = waiting[served + 1]?.kind === "write";
    for (let next = head(); next?.kind === "write"; next = head()) {
      if (next.alone && done.length > 0) break;
      take();
      try {
        if (isGroup) db.run("SAVEPOINT leasehold_write", []);
        done.push({ write: next, value: next.action() });
        if (isGroup) db.run("RELEASE leasehold_write", []);
      } catch (error) {
        next.reject(error);
        if (done.at(-1)?.write === next) done.pop();
        if (isGroup && undo()) continue;
        for (const { write } of done) write.alone = true;
        waiting = [...done.map(({ write }) => write), ...waiting.slice(served)];
        served = 0;
        return undefined;
      }
      if (next.alone || performance.now() > deadline) break;
    }
    return done;
  };

  const runGroup = async (): Promise<void> => {
    try {
      await retryBusy(() => db.exec("BEGIN IMMEDIATE"));
    } catch (error) {
      rejectWrites(error);
      return;
    }
    // From here to the end of the transaction nothing waits, so nobody can come in between.
    const done = runWrites();
    if (done === undefined) {
      rollBackAfter(db);
      return;
    }
    try {
      db.exec("COMMIT");
    } catch (error) {
      rollBackAfter(db);
      for (const { write } of done) write.reject(error);
      return;
    }
    for (const { write, value } of done) write.resolve(value);
    onCommit();
  };

  const drain = async (): Promise<void> => {
    for (;;) {
      await nextTurn();
      const next = head();
      if (next === undefined) break;
      if (next.kind === "write") await runGroup();
      else {
        take();
        held = true;
        await new Promise<void>((release) => next.grant(release));
        held = false;
      }
    }
    draining = undefined;
  };

  const enter = (entry: Write | Hold): void => {
    waiting.push(entry);
    draining ??= drain();
  };

  return {
    write: <T>(action: () => T) =>
      new Promise<T>((resolve, reject) => {
        enter({ kind: "write", action, alone: false, resolve, reject });
      }),
    hold: () =>
      new Promise((grant, reject) => {
        enter({ kind: "hold", grant, reject });
      }),
    isHeld: () => held,
    end: async (reason) => {
      const refused = waiting.slice(served);
      waiting = [];
      served = 0;
      for (const entry of refused) entry.reject(reason);
      await draining;
    },
  };
};
