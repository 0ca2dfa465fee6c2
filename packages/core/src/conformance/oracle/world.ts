import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { HeldLease } from "../../store/contract/claims.ts";
import type { JobOutcome } from "../../store/contract/outcomes.ts";
import type { AnyStateAdapter } from "../../store/contract/state-adapter.ts";
import type { Draw } from "./draw.ts";
import { copyStore, createModelStore, type ModelStore, restoreStore } from "./store.ts";

/** The adapter, the model that it is compared with, and what the run has produced so far. */
export interface World {
  readonly adapter: AnyStateAdapter;
  readonly model: ModelStore;
  /** Whether this run is about jobs alone, or about groups and rules. */
  readonly about: "jobs" | "limits";
  /** The `now` of the next call. It only ever rises. */
  now: number;
  /** Every lease that was ever given: most of them are stale. */
  readonly leases: HeldLease[];
  /** How each job's latest lease ended, if by its holder. */
  readonly lastEnding: Map<string, JobOutcome["kind"]>;
  /** Without savepoints, a nested transaction that was rolled back has taken the outer one with it. */
  isOuterLost: boolean;
  lastClaim: Omit<Parameters<AnyStateAdapter["claimJobs"]>[0], "ctx" | "now"> | undefined;
  /** What has been done, for the message of a failure. */
  readonly log: string[];
  note(action: string, details?: unknown): void;
  createId(): string;
}

/**
 * One kind of thing to do: decides by drawing, does it to the adapter and to the model, and compares the answers. With
 * `ctx` it belongs to that transaction, and has to end it by `ExpectedRejection` when a call was rightly refused.
 */
export type Action = (world: World, draw: Draw, ctx?: object) => Promise<void>;

/** The adapter refused as it should, and the transaction is spoiled. */
export class ExpectedRejection extends Error {}

/** In the form of a UUID, and in no order: creation order must not be read off the ids. */
const createIds = (): (() => string) => {
  let count = 0;
  return () => {
    count += 1;
    const hex = createHash("sha256").update(String(count)).digest("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
};

export const createWorld = (adapter: AnyStateAdapter, about: World["about"], now: number): World => {
  const log: string[] = [];
  const world: World = {
    adapter,
    about,
    model: createModelStore(),
    now,
    leases: [],
    lastEnding: new Map(),
    isOuterLost: false,
    lastClaim: undefined,
    log,
    note: (action, details = "") =>
      log.push(`${action} ${JSON.stringify(details)} at +${world.now - now} ms`),
    createId: createIds(),
  };
  return world;
};

/**
 * Runs `work` in a transaction of the adapter's, or nested in `parent`. Model and adapter take it back together when the work
 * ends in a rejection that was expected.
 */
export const inTransaction = async (
  world: World,
  work: (ctx: object) => Promise<void>,
  parent?: object,
): Promise<void> => {
  const before = copyStore(world.model);
  const takesOuterAlong = parent !== undefined && !world.adapter.capabilities.savepoints;
  try {
    await world.adapter.runInTransaction(work, parent);
    assert.ok(!world.isOuterLost, "a transaction must not commit what was rolled back inside it");
  } catch (error) {
    const isExpected = error instanceof ExpectedRejection || (world.isOuterLost && !isAssertion(error));
    if (!isExpected) throw error;
    restoreStore(world.model, before);
    world.isOuterLost = takesOuterAlong;
  }
};

const isAssertion = (error: unknown): boolean => error instanceof assert.AssertionError;
