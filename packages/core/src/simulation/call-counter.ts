import type { WorkerBuilder } from "../worker/api.ts";
import type { AttemptEventData } from "../observability/events.ts";
import type { History } from "./history.ts";

/** Tells which attempts share a call of a handler. */
export interface CallCounter {
  /** Notes which types the worker runs in batches. Returns the worker. */
  learnBatchTypes<TDefs, TTxContext, TJobId extends string>(
    worker: WorkerBuilder<TDefs, TTxContext, TJobId>,
  ): WorkerBuilder<TDefs, TTxContext, TJobId>;
  /** An attempt begins. Returns the number of the call. */
  begin(attempt: AttemptEventData): number;
  /** An attempt ends. Returns the number of its call. */
  end(attempt: AttemptEventData): number;
}

const keyOf = ({ workerId, id, attempt }: AttemptEventData): string => `${workerId} ${id} ${attempt}`;

/** The attempts of a batch begin right after one another, before the handler is called. */
export const createCallCounter = (history: History): CallCounter => {
  const batchTypes = new Set<string>();
  // More than one where a job was cancelled and redriven while its handler ran: its attempts are then counted from 1 again.
  const callsOf = new Map<string, number[]>();
  let latest: { readonly call: number; readonly typeName: string } | undefined;
  let next = 0;

  const sharesLatest = ({ workerId, typeName }: AttemptEventData): boolean => {
    const last = history.events.at(-1);
    if (!batchTypes.has(typeName) || last?.kind !== "slot_taken") return false;
    return last.workerId === workerId && last.call === latest?.call && latest.typeName === typeName;
  };

  return {
    learnBatchTypes: (worker) => {
      const { implementJobTypeBatch } = worker;
      return Object.assign(worker, {
        implementJobTypeBatch: (options: Parameters<typeof implementJobTypeBatch>[0]) => {
          batchTypes.add(options.typeName);
          return implementJobTypeBatch(options);
        },
      });
    },
    begin: (attempt) => {
      if (!sharesLatest(attempt)) latest = { call: (next += 1), typeName: attempt.typeName };
      const calls = callsOf.get(keyOf(attempt)) ?? [];
      callsOf.set(keyOf(attempt), [...calls, latest!.call]);
      return latest!.call;
    },
    end: (attempt) => callsOf.get(keyOf(attempt))?.pop() ?? 0,
  };
};
