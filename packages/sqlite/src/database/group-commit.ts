import { statSync } from "node:fs";
import type { BusyRetry } from "./busy-retry.ts";
import { rollBackAfter, type SqliteConnection } from "./connection.ts";

/** Keeps the write-ahead log from growing. To be called after every commit. */
export type AfterCommit = () => void;

// SQLite copies the log into the database after every thousand pages, and then restarts it. It cannot restart while another
// connection reads, so under many readers the log grows. This checkpoint waits for a gap between the readers.
const commitsBetweenChecks = 64;

const pauseAfterFailureMs = 1_000;

export interface CheckpointsOptions {
  readonly db: SqliteConnection;
  readonly file: string;
  readonly maxWalBytes: number;
}

export const createCheckpoints = ({ db, file, maxWalBytes }: CheckpointsOptions): AfterCommit => {
  let commits = 0;
  let notBefore = 0;

  const isTooLarge = (): boolean =>
    (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > maxWalBytes;

  return () => {
    commits += 1;
    if (commits % commitsBetweenChecks !== 0 || performance.now() < notBefore) return;
    try {
      if (!isTooLarge() || db.first("PRAGMA wal_checkpoint(TRUNCATE)", [])?.[0] === 0) return;
    } catch {
      // The commit has succeeded in any case. If the disk is broken, the next commit will fail.
    }
    // Another connection reads from the log. Retrying at once would only delay writes.
    notBefore = performance.now() + pauseAfterFailureMs;
  };
};

/**
 * The queue for the writing connection. Writes that arrive in the same turn of the event loop, or while the connection is
 * in use, share one transaction and so one wait for the disk. A hold has exclusive use of the connection until its release.
 *
 *   in order of arrival:   w w w H w w
 *   what happens:          [BEGIN w w w COMMIT] [H … release] [BEGIN w w COMMIT]
 */
export interface WriteQueue {
  /** Runs `action`, which is synchronous, in a transaction. It may run a second time. */
  write<T>(action: () => T): Promise<T>;
  /** Resolves when the caller has the connection, with the function that releases it. */
  hold(): Promise<() => void>;
  isHeld(): boolean;
  /** Rejects all entries of the queue, and resolves when the connection is unused. */
  end(reason: Error): Promise<void>;
}

interface Write {
  readonly kind: "write";
  readonly action: () => unknown;
  /** Set when the error of another write has ended the shared transaction: this one is then retried alone. */
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

// A longer transaction would keep other processes from writing, and this process from doing anything else.
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
    // Array.shift would copy the whole queue each time.
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

  /** Undoes one write of a group. False when its error has ended the whole transaction. */
  const undo = (): boolean => {
    try {
      db.exec("ROLLBACK TO leasehold_write; RELEASE leasehold_write");
      return true;
    } catch {
      return false;
    }
  };

  /** Runs the writes at the head of the queue. Undefined when the error of one has ended the transaction of all. */
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
    // From here to the end of the transaction nothing waits, so no other code runs in between.
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
