import { createLeasehold, StoreCallTimeoutError } from "leasehold";
import {
  apiOperations,
  type ApiUnderTest,
  createDeterministicRuntime,
  createManualClock,
  type ManualClock,
} from "leasehold/testing";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SqliteConnection } from "./database/connection.ts";
import type { SqliteStateAdapter } from "./state-adapter.ts";
import { createGate } from "./testing/jobs.ts";
import { createTestFolder, createTestStore, openRaw, type TestStore } from "./testing/store.ts";

const storeDeadlineMs = 10_000;

type AnyMethod = (...args: unknown[]) => unknown;

const partNames = new Set(["statistics", "recurring", "edits", "limits", "history"]);

/** Answered without the database. */
const isLocal = (method: string): boolean => method.startsWith("is") || method === "close";

/**
 * Calls of the store that are late. The statements of one call run without a pause, so no call can be late between two of
 * them: either it reaches the database late, or its answer does.
 */
const holdCall = (nth: number, what: "call" | "answer") => {
  const [reached, over] = [createGate(), createGate()];
  let count = 0;
  let isArmed = false;
  const wrap = <T extends object>(part: T): T =>
    Object.fromEntries(
      Object.entries(part).map(([name, value]: [string, unknown]) => {
        if (partNames.has(name)) return [name, wrap(value as object)];
        if (typeof value !== "function" || isLocal(name)) return [name, value];
        return [name, hold(value as AnyMethod)];
      }),
    ) as T;
  const hold =
    (method: AnyMethod): AnyMethod =>
    async (...args) => {
      if (isArmed) count += 1;
      const isHeld = isArmed && count === nth;
      if (isHeld) reached.open();
      if (isHeld && what === "call") await over.opened;
      try {
        return await method(...args);
      } finally {
        if (isHeld) await over.opened;
      }
    };
  const arm = (): void => {
    isArmed = true;
  };
  return { wrap, arm, reached: reached.opened, end: () => over.open() };
};

let folder: string;
let store: TestStore;
let raw: SqliteConnection;
let healthy: ApiUnderTest;
let instances = 0;

const openLeasehold = async (
  stateAdapter: SqliteStateAdapter,
): Promise<{ leasehold: ApiUnderTest; clock: ManualClock }> => {
  instances += 1;
  const clock = createManualClock();
  const runtime = createDeterministicRuntime({ seed: instances, clock });
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: apiOperations.jobTypes,
    runtime,
    statistics: false,
    storeDeadlineMs,
  });
  return { leasehold: leasehold as unknown as ApiUnderTest, clock };
};

beforeAll(async () => {
  folder = await createTestFolder();
  const file = join(folder, "jobs.db");
  store = await createTestStore({ file });
  raw = await openRaw(file);
  ({ leasehold: healthy } = await openLeasehold(store.adapter));
});

afterAll(async () => {
  raw.close();
  await store.destroy();
  await rm(folder, { recursive: true, force: true });
});

/** The rows of every table. */
const everything = (): Readonly<Record<string, unknown>> => {
  const tables = raw.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1", []);
  return Object.fromEntries(tables.map(([name]) => [name, raw.query(`SELECT * FROM ${String(name)}`, [])]));
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

class RolledBack extends Error {}

describe.each(["call", "answer"] as const)("a transaction in which one %s of the store is late", (what) => {
  it.each(apiOperations.writes.map((operation) => [operation.name, operation] as const))(
    "%s leaves nothing behind, whichever it is",
    { timeout: 120_000 },
    async (_name, { prepare }) => {
      for (let nth = 1, isReached = true; isReached; nth += 1) {
        const call = await prepare(healthy);
        const held = holdCall(nth, what);
        const { leasehold, clock } = await openLeasehold(held.wrap(store.adapter));
        const before = everything();
        held.arm();
        let outcome: Promise<unknown> | undefined;
        const transaction = store.adapter.runInTransaction(async (ctx) => {
          outcome = call(leasehold, ctx).then(
            () => "done",
            (error: unknown) => error,
          );
          isReached = await Promise.race([held.reached.then(() => true), outcome.then(() => false)]);
          if (isReached) await clock.advanceBy(storeDeadlineMs);
          await outcome;
          throw new RolledBack("by the user");
        });
        await expect(transaction).rejects.toBeInstanceOf(RolledBack);
        if (isReached) expect(await outcome, `${what} ${nth}`).toBeInstanceOf(StoreCallTimeoutError);
        else expect(await outcome).toBe("done");
        held.end();
        await settle();
        expect(everything(), `when ${what} ${nth} was late`).toEqual(before);
      }
    },
  );
});
