import type { AnyStateAdapter } from "leasehold/adapter";
import { type CheckDepth, checkStore, type CheckResult, type QueueCheckOptions } from "leasehold/doctor";

export interface StoreCheck {
  readonly depth: CheckDepth;
  /** By the store's clock. */
  readonly checkedAt: number;
  readonly results: readonly CheckResult[];
}

export interface Doctor {
  /** What counts as waiting too long, here and in the summary. */
  readonly lateness: QueueCheckOptions;
  /** The last examination; a new one, which costs the store little, if that is too old. */
  latest(): Promise<StoreCheck>;
  /** A new examination, as a person asks for it. */
  check(): Promise<StoreCheck>;
}

export interface DoctorOptions {
  readonly stateAdapter: AnyStateAdapter;
  readonly workerless: ReadonlySet<string>;
  now(): Promise<number>;
  /** For how long an examination is good enough for those who have not asked for one. */
  readonly maxAgeMs?: number;
}

/** Longer than a worker that is alive leaves a job. */
const stalledMs = 60_000;

/** Examines the store for all viewers: one examination at a time, and everybody gets to see the last one. */
export const createDoctor = ({
  stateAdapter,
  workerless,
  now,
  maxAgeMs = 5 * 60_000,
}: DoctorOptions): Doctor => {
  let last: StoreCheck | undefined;
  let underWay: { readonly depth: CheckDepth; readonly done: Promise<StoreCheck> } | undefined;

  const examine = async (depth: CheckDepth): Promise<StoreCheck> => {
    const results = await checkStore(stateAdapter, { depth, stalledMs, workerless });
    last = { depth, results, checkedAt: await now() };
    return last;
  };

  const begin = async (depth: CheckDepth): Promise<StoreCheck> => {
    const done = examine(depth);
    underWay = { depth, done };
    try {
      return await done;
    } finally {
      underWay = undefined;
    }
  };

  return {
    lateness: { stalledMs, workerless },
    latest: async () => {
      if (last !== undefined && (await now()) - last.checkedAt < maxAgeMs) return last;
      return underWay?.done ?? begin("light");
    },
    check: async () => {
      while (underWay !== undefined) {
        const { depth, done } = underWay;
        if (depth === "usual") return done;
        await done.catch(() => undefined);
      }
      return begin("usual");
    },
  };
};
