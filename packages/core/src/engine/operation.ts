import { repeatAfterConflict } from "../base/backoff.ts";
import { InvalidOptionError, LeaseholdClosedError } from "../base/errors.ts";
import {
  type OptionNames,
  requireOneOf,
  requireOptions,
  requirePlainObject,
  unknownOption,
} from "../base/options.ts";
import { createNotificationBatch, type Notifier } from "../notify/notifier.ts";
import type { LeaseholdEventName, LeaseholdEvents } from "../observability/events.ts";
import { isObserved, type Observe } from "../observability/observe.ts";
import { isolationLevels, type TransactionOptions } from "../store/contract/calls.ts";
import type { PartName } from "../store/contract/state-adapter.ts";
import { StateNotInTransactionError } from "../store/errors.ts";
import { requirePart } from "../store/parts.ts";
import {
  type AfterCommit,
  type Counter,
  type Engine,
  type StatisticsKey,
  runInScope,
  type Tally,
} from "./engine.ts";

export const noTally: Tally = { isOn: false, add: () => {}, addAttempt: () => {} };

interface BufferedEvent {
  readonly name: LeaseholdEventName;
  readonly data: () => LeaseholdEvents[LeaseholdEventName];
}

/** With `committed` there is nothing to wait for: events are reported at once, and only notifications are gathered. */
export const createAfterCommit = (
  {
    notifier,
    observe,
    tally,
  }: { readonly notifier: Notifier; readonly observe: Observe; readonly tally: Tally },
  { committed = false }: { readonly committed?: boolean } = {},
): AfterCommit => {
  const notifications = createNotificationBatch();
  let events: BufferedEvent[] = [];
  let counts: { readonly key: StatisticsKey; readonly counter: Counter }[] = [];

  const reportTo = (report: Observe, count: AfterCommit["count"]): void => {
    const due = events;
    events = [];
    for (const { name, data } of due) report(name, data as () => never);
    const counted = counts;
    counts = [];
    for (const { key, counter } of counted) count(key, counter);
  };

  // Without getters: every start makes one of these, and a literal with a getter takes much longer.
  const effects = {
    notify: (kind, name) => notifications.add(kind, name),
    notifications,
    isOpen: true as boolean,
    close: () => {
      effects.isOpen = false;
    },
    observe:
      committed || !isObserved(observe)
        ? observe
        : (name, data) => {
            events.push({ name, data });
          },
    count:
      committed || !tally.isOn
        ? tally.add
        : (key, counter) => {
            counts.push({ key, counter });
          },
    moveTo: (outer) => {
      outer.notifications.merge(notifications);
      reportTo(outer.observe, outer.count);
    },
    publish: () => {
      reportTo(observe, tally.add);
      notifier.send(notifications);
    },
    publishEvents: () => reportTo(observe, tally.add),
  } satisfies AfterCommit;
  return effects;
};

/** Throws once the instance is closed. */
export const requireOpen = ({ lifecycle }: Engine, operation: string): void => {
  if (lifecycle.closed.aborted) throw new LeaseholdClosedError(operation);
};

/** None for a timer or promise that outlives its callback: that transaction has ended. */
const findSurroundingTransaction = async (engine: Engine): Promise<object | undefined> => {
  const transaction = engine.scope.getStore()?.transaction;
  return transaction && (await engine.store.isInTransaction(transaction)) ? transaction : undefined;
};

// What a callback gets besides the context. Its argument is often spread as a whole into a call.
const handedOutWithContext: ReadonlySet<string> = new Set(["job", "jobs", "complete", "continueWith"]);

/**
 * Finds the transaction that a call belongs to: the context passed with its options, or else the transaction in whose callback
 * the call is made. A name that is neither an option nor part of a context is refused.
 */
export const resolveTransaction = async (
  engine: Engine,
  operation: string,
  passed: Record<string, unknown>,
  known: OptionNames,
): Promise<object | undefined> => {
  requireOpen(engine, operation);
  const names = Object.keys(passed).filter((name) => !Object.hasOwn(known, name));
  if (names.length === 0) return findSurroundingTransaction(engine);
  const { contextKeys } = engine.store;
  const keys = names.filter((name) => contextKeys.includes(name));
  const unknown = names.find(
    (name) => !keys.includes(name) && (keys.length === 0 || !handedOutWithContext.has(name)),
  );
  if (unknown !== undefined) {
    throw unknownOption(unknown, [...Object.keys(known), ...contextKeys], operation);
  }
  const context = pick(passed, keys);
  // A key that is undefined is a forgotten client. If it were ignored, the call would commit on its own.
  const undefinedKeys = keys.filter((key) => passed[key] === undefined);
  if (undefinedKeys.length === 0 && (await engine.store.isInTransaction(context))) return context;
  throw new StateNotInTransactionError(operation, keys, undefinedKeys);
};

interface OperationOptions<TPart extends PartName | undefined> {
  /** The names of the options. Any other property belongs to the transaction context. */
  readonly options: OptionNames;
  /** The optional part of the contract that the operation needs. */
  readonly part?: TPart;
}

/** What a use case works with. */
export interface OperationCall<TPart> {
  readonly options: Record<string, unknown>;
  /** The caller's transaction. */
  readonly ctx: object | undefined;
  readonly part: TPart;
}

type RequiredPart<TPart extends PartName | undefined> = TPart extends PartName
  ? NonNullable<Engine["store"][TPart]>
  : undefined;

/** Runs a use case with checked option names, the transaction it belongs to, and the part of the contract it needs. */
export const operation = async <T, TPart extends PartName | undefined = undefined>(
  engine: Engine,
  name: string,
  passed: unknown,
  { options: known, part }: OperationOptions<TPart>,
  run: (call: OperationCall<RequiredPart<TPart>>) => T | Promise<T>,
): Promise<T> => {
  const options = requirePlainObject(passed, "options");
  const ctx = await resolveTransaction(engine, name, options, known);
  const required = part === undefined ? undefined : requirePart(engine.store, part, name);
  return run({ options, ctx, part: required as RequiredPart<TPart> });
};

const pick = (passed: Record<string, unknown>, keys: readonly string[]): object =>
  Object.fromEntries(keys.map((key) => [key, passed[key]]));

/** Hands the effects over to the surrounding transaction or `withNotify`, which decides about them. False if there is none. */
const handOver = (engine: Engine, afterCommit: AfterCommit): boolean => {
  const outer = engine.scope.getStore()?.afterCommit;
  if (!outer?.isOpen) return false;
  afterCommit.moveTo(outer);
  return true;
};

const settleInOuterTransaction = (engine: Engine, operation: string, afterCommit: AfterCommit): void => {
  if (handOver(engine, afterCommit)) return;
  afterCommit.publishEvents();
  if (!afterCommit.notifications.isEmpty()) engine.observe("notifyContextAbsence", () => ({ operation }));
};

/**
 * Runs one store call, in the caller's transaction if there is one, and announces what it did once that is committed. The
 * call is atomic, so it needs no transaction around it.
 */
export const announceAfter = async <T>(
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  call: (afterCommit: AfterCommit) => Promise<T>,
): Promise<T> => {
  const afterCommit = createAfterCommit(engine);
  const result = await call(afterCommit);
  if (ctx) settleInOuterTransaction(engine, operation, afterCommit);
  else afterCommit.publish();
  return result;
};

/**
 * Runs several store calls as one: in a transaction of their own, or nested in the caller's, so that a failure halfway
 * leaves nothing behind even if the caller catches it. With savepoints the caller's transaction then continues; without
 * them it is lost as a whole.
 */
export const runAtomicallyOnce = async <T>(
  engine: Engine,
  operation: string,
  ctx: object | undefined,
  calls: (ctx: object, afterCommit: AfterCommit) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> => {
  const afterCommit = createAfterCommit(engine);
  let result: T;
  try {
    result = await engine.store.runInTransaction(
      (inner) => runInScope(engine, { afterCommit, transaction: inner }, () => calls(inner, afterCommit)),
      ctx,
      options,
    );
  } finally {
    afterCommit.close();
  }
  if (ctx) settleInOuterTransaction(engine, operation, afterCommit);
  else afterCommit.publish();
  return result;
};

/** The same; a transaction of their own is repeated after a conflict rollback. */
export const runAtomically: typeof runAtomicallyOnce = (engine, operation, ctx, calls, options) => {
  const once = () => runAtomicallyOnce(engine, operation, ctx, calls, options);
  return ctx ? once() : repeatAfterConflict(engine.runtime, engine.store.isConflictRollback, once);
};

/** Options of a transaction that users open: `runInTransaction`, `prepare`, `complete`. */
export const parseTransactionOptions = (
  engine: Engine,
  passed: unknown,
  functionName: string,
): TransactionOptions | undefined => {
  if (passed === undefined) return undefined;
  const { isolationLevel } = requireOptions(passed, functionName, { isolationLevel: true });
  if (isolationLevel === undefined) return undefined;
  const known = requireOneOf(isolationLevel, "isolationLevel", isolationLevels);
  const { isolationLevels: offered } = engine.store.capabilities;
  if (!offered.includes(known)) {
    throw new InvalidOptionError(
      "isolationLevel",
      `must be one that this store has (${offered.join(", ") || "it has none to choose from"})`,
      known,
    );
  }
  return { isolationLevel: known };
};

/**
 * A transaction for the user's own work. Core opens and ends it, so notifications can follow the commit. Inside another
 * transaction it is a savepoint, like every call made there. At a strict isolation level, and in stores that abort on conflicts,
 * it is repeated after a conflict rollback, with the callback.
 */
export const runUserTransaction = async <T>(
  engine: Engine,
  callback: (ctx: object) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> => {
  requireOpen(engine, "runInTransaction");
  const outer = engine.scope.getStore()?.transaction;
  if (outer && options) {
    throw new InvalidOptionError(
      "isolationLevel",
      "cannot be set inside a transaction",
      options.isolationLevel,
    );
  }
  const isStrict = options !== undefined && options.isolationLevel !== "read committed";
  const isRepeated = isStrict || engine.store.capabilities.conflicts === "abort";
  const run = isRepeated ? runAtomically : runAtomicallyOnce;
  return run(engine, "runInTransaction", outer, callback, options);
};

/**
 * `withNotify`: what is to be announced is published when the callback has succeeded, and dropped when it fails. Inside a
 * transaction that core opened, or another `withNotify`, it is handed over to that.
 */
export const collectNotifications = async <T>(engine: Engine, callback: () => Promise<T>): Promise<T> => {
  const afterCommit = createAfterCommit(engine);
  let result: T;
  try {
    result = await runInScope(engine, { afterCommit }, callback);
  } finally {
    afterCommit.close();
  }
  if (!handOver(engine, afterCommit)) afterCommit.publish();
  return result;
};
