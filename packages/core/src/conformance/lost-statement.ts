import assert from "node:assert/strict";
import type { AnyStateAdapter, StateAdapter } from "../store/contract/state-adapter.ts";
import { partOperations } from "./lost-statement/operations.ts";
import type { ConformanceRunner } from "./runner.ts";

/** The rows of each table, in an order that does not depend on how they were written. */
export type TableDump = Readonly<Record<string, string>>;

/** An adapter whose connection is lost once. */
export interface LosingAdapter {
  readonly adapter: AnyStateAdapter;
  /** Statements count from here on. */
  arm(): void;
  disarm(): void;
  /** Whether there were that many statements. */
  isReached(): boolean;
}

/** What `lostStatementConformance` needs: a store, and its tables. */
export interface LostStatementFixture {
  /** A new adapter over the store that all of them share. It does not repeat failed calls. */
  open(): Promise<AnyStateAdapter>;
  /** The same over a connection that is lost before statement number `nth` is sent, or before its reply arrives. */
  openLosing(nth: number, when: "before" | "after"): Promise<LosingAdapter>;
  /** Whether this is the error of the lost connection. */
  isLoss(error: unknown): boolean;
  /** Without numbers that a transaction uses up even if it is rolled back. */
  dump(): Promise<TableDump>;
  /** Empties every table. */
  reset(): Promise<void>;
}

const differing = (a: TableDump, b: TableDump): string[] =>
  Object.keys(a).filter((name) => a[name] !== b[name]);

const timeoutMs = 120_000;

/**
 * Every statement of the calls of limits, recurring jobs and history, with a connection that is lost before or after it. The
 * call must have happened as a whole or not at all, and repeated it must have happened once.
 */
export const lostStatementConformance = (runner: ConformanceRunner, fixture: LostStatementFixture): void => {
  const { dump, reset, isLoss } = fixture;
  const open = (): Promise<StateAdapter> => fixture.open();

  for (const when of ["before", "after"] as const) {
    runner.describe(`a connection lost ${when} any statement`, () => {
      for (const { name, prepare, call, settle } of partOperations) {
        const tell = async (): Promise<void> => {
          await reset();
          await prepare(await open());
          await call(await open(), false);
          const done = await dump();
          await settle?.(await open());
          const settled = await dump();
          for (let nth = 1, isReached = true; isReached; nth += 1) {
            await reset();
            await prepare(await open());
            const before = await dump();
            const losing = await fixture.openLosing(nth, when);
            const adapter = losing.adapter as unknown as StateAdapter;
            losing.arm();
            const failure = await call(adapter, false).then(
              () => undefined,
              (error: unknown) => error,
            );
            isReached = losing.isReached();
            losing.disarm();
            if (failure !== undefined && !isLoss(failure)) throw failure;
            const after = await dump();
            const missing = differing(done, after);
            // A rule is stored first, and then applied to the jobs, if not by this call then by the next claim.
            if (settle === undefined && (failure === undefined || differing(before, after).length > 0))
              assert.deepEqual(missing, [], `not or half done after statement ${nth}`);
            // By the process that met the fault: what it remembers must not be in the way.
            await call(adapter, true);
            await settle?.(await open());
            assert.deepEqual(differing(settled, await dump()), [], `repeated after statement ${nth}`);
          }
        };
        runner.it(`${name} has happened or has not, and repeated it has happened once`, tell, timeoutMs);
      }
    });
  }
};
