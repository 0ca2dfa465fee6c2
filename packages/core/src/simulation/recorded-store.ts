import type { Clock } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { createAsyncLock } from "../base/async.ts";
import type { StateJob } from "../store/contract/job.ts";
import { contractMethods } from "../store/parts.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";
import type { History, RowChange, StoreStep } from "./history.ts";

/** The one store of a simulation. It writes down what each call changed by looking at the rows, not at the answer. */
export interface RecordedStore {
  /** The store as this process reaches it. */
  connect(processName: string): AnyStateAdapter;
  /** The latest state of every job that exists, uncommitted changes included. */
  readonly rows: ReadonlyMap<string, StateJob>;
  readonly isTransactionOpen: boolean;
}

export interface RecordedStoreOptions {
  readonly adapter: AnyStateAdapter;
  readonly clock: Clock;
  readonly history: History;
  /** Called when a process has waited for its turn since `since`. */
  readonly onWait: (processName: string, since: number) => void;
}

// Reports and statistics are left out: they do not touch jobs.
const { jobs, recurring, edits, limits } = contractMethods;

const changesRows = (method: string): boolean =>
  [jobs, recurring, edits, limits].some(
    (part: Readonly<Record<string, string>>) => (part[method] ?? "read") !== "read",
  );

type Rows = Map<string, StateJob>;
type Call = Record<string, unknown> & { readonly ctx?: unknown };

/** Row by row, because adapters other than the in-process one return new objects for the same row. */
const isSame = (a: StateJob | undefined, b: StateJob | undefined): boolean => {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  for (const key in a) if (a[key as keyof StateJob] !== b[key as keyof StateJob]) return false;
  return true;
};

const differingIds = (a: Rows, b: Rows): string[] =>
  [...new Set([...a.keys(), ...b.keys()])].filter((id) => !isSame(a.get(id), b.get(id)));

/**
 * Writers take turns, each with all calls of its transaction, so that every change has exactly one cause. What
 * databases allow beyond that is for the conformance suite to try.
 */
export const createRecordedStore = ({
  adapter,
  clock,
  history,
  onWait,
}: RecordedStoreOptions): RecordedStore => {
  const turns = createAsyncLock();
  const knownIds = new Set<string>();
  const rows: Rows = new Map();
  /** The calls of the transaction that is open; there is at most one. */
  let open: StoreStep[] | undefined;

  /** Reads every row again and answers what is different from the last time. */
  const observe = async (ctx: unknown): Promise<RowChange[]> => {
    const ids = [...knownIds];
    const found = await adapter.getJobs({ ctx, jobIds: ids });
    const changes: RowChange[] = [];
    for (const [index, id] of ids.entries()) {
      const before = rows.get(id);
      const after = found[index];
      if (isSame(before, after)) continue;
      changes.push({ before, after });
      if (after === undefined) rows.delete(id);
      else rows.set(id, after);
    }
    return changes;
  };

  const anomaly = (description: string): void =>
    history.add({ kind: "anomaly", at: clock.now(), description });

  const takeTurn = async (processName: string): Promise<void> => {
    const since = clock.now();
    await turns.acquire();
    if (clock.now() > since) onWait(processName, since);
  };

  /** Makes one call and notes what it changed, whether it succeeded or not. */
  const perform = async (
    method: string,
    original: AnyMethod,
    call: Call,
  ): Promise<{ result: unknown; step: StoreStep }> => {
    if (method === "createJobs") for (const { id } of call["jobs"] as { id: string }[]) knownIds.add(id);
    const at = clock.now();
    try {
      const result = await original(call);
      return { result, step: { at, method, call, result, changes: await observe(call.ctx) } };
    } catch (error) {
      const changes = await observe(call.ctx);
      if (changes.length > 0) anomaly(`${method} failed and yet changed ${changes.length} rows`);
      throw error;
    }
  };

  const write = async (
    processName: string,
    method: string,
    original: AnyMethod,
    call: Call,
  ): Promise<unknown> => {
    if (call.ctx !== undefined) {
      // A context whose transaction is over: the store's own error.
      if (open === undefined || !(await adapter.isInTransaction(call.ctx))) return original(call);
      const steps = open;
      const { result, step } = await perform(method, original, call);
      steps.push(step);
      return result;
    }
    await takeTurn(processName);
    try {
      const { result, step } = await perform(method, original, call);
      history.add({ kind: "applied", at: step.at, process: processName, steps: [step] });
      return result;
    } finally {
      turns.release();
    }
  };

  type Callback = (ctx: unknown) => Promise<unknown>;

  const runSavepoint = async (original: AnyMethod, callback: Callback, parent: unknown): Promise<unknown> => {
    if (open === undefined || !(await adapter.isInTransaction(parent))) return original(callback, parent);
    const steps = open;
    const stepsBefore = steps.length;
    const rowsBefore = new Map(rows);
    try {
      return await original(callback, parent);
    } catch (error) {
      if (await adapter.isInTransaction(parent)) {
        steps.length = stepsBefore;
        await observe(parent);
        const left = differingIds(rowsBefore, rows);
        if (left.length > 0) anomaly(`a savepoint was undone, but not its changes to ${left.join(", ")}`);
      }
      throw error;
    }
  };

  const runTransaction = async (
    processName: string,
    original: AnyMethod,
    callback: Callback,
  ): Promise<unknown> => {
    await takeTurn(processName);
    const rowsBefore = new Map(rows);
    const steps: StoreStep[] = [];
    open = steps;
    try {
      const result = await original(callback);
      const unexplained = await observe(undefined);
      if (unexplained.length > 0)
        anomaly(`a commit changed ${unexplained.length} rows that its calls had not`);
      history.add({ kind: "applied", at: clock.now(), process: processName, steps });
      return result;
    } catch (error) {
      await observe(undefined);
      const left = differingIds(rowsBefore, rows);
      if (left.length > 0)
        anomaly(`a transaction was rolled back, but not its changes to ${left.join(", ")}`);
      const createdIds = steps.flatMap(({ changes }) =>
        changes.flatMap(({ before, after }) => (before || !after ? [] : [after.id])),
      );
      history.add({ kind: "rolled_back", at: clock.now(), process: processName, createdIds });
      throw error;
    } finally {
      open = undefined;
      turns.release();
    }
  };

  return {
    rows,
    get isTransactionOpen() {
      return open !== undefined;
    },
    connect: (processName) =>
      wrapAdapter(adapter, (method, original) => {
        if (method === "runInTransaction") {
          return (callback, parent) =>
            parent === undefined
              ? runTransaction(processName, original, callback as Callback)
              : runSavepoint(original, callback as Callback, parent);
        }
        if (!changesRows(method)) return original;
        return (call) => write(processName, method, original, call as Call);
      }),
  };
};
