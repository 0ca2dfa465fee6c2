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
  /** The last check; a new, light one if that is too old. */
  latest(): Promise<StoreCheck>;
  /** A new check with all but the slowest checks. */
  check(): Promise<StoreCheck>;
}

export interface DoctorOptions {
  readonly stateAdapter: AnyStateAdapter;
  readonly workerless: ReadonlySet<string>;
  now(): Promise<number>;
  /** How long a check is reused by `latest`. */
  readonly maxAgeMs?: number;
}

/** Longer than a live worker leaves a runnable job waiting. */
const stalledMs = 60_000;

/** Checks the store for all viewers: one check at a time, whose result they share. */
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
