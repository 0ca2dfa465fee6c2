import type { RedriveReport, UpdateReport } from "./api/operate.ts";

/** Sets or removes one value of an input. */
export interface InputChange {
  /** From the outside in: names of properties, and positions in lists. Empty for the whole input. */
  readonly path: readonly (string | number)[];
  /** Absent to remove what is there. */
  readonly value?: unknown;
}

const changeAt = (
  target: unknown,
  [segment, ...rest]: InputChange["path"],
  change: InputChange,
): { readonly value: unknown } | undefined => {
  if (segment === undefined) return { value: change.value };
  if (typeof target !== "object" || target === null) return undefined;
  const isRemoval = rest.length === 0 && !("value" in change);
  if (Array.isArray(target)) {
    if (typeof segment !== "number" || segment >= target.length) return undefined;
    const copy: unknown[] = [...target];
    if (isRemoval) copy.splice(segment, 1);
    else {
      const inner = changeAt(copy[segment], rest, change);
      if (inner === undefined) return undefined;
      copy[segment] = inner.value;
    }
    return { value: copy };
  }
  const key = String(segment);
  const entries = new Map(Object.entries(target));
  if (isRemoval) entries.delete(key);
  else {
    const inner = changeAt(entries.get(key), rest, change);
    if (inner === undefined) return undefined;
    entries.set(key, inner.value);
  }
  // `fromEntries` defines properties, so that a key named __proto__ is one like any other.
  return { value: Object.fromEntries(entries) };
};

/** A changed copy of an input; undefined if it does not have a place that the changes name. */
export const changeInput = (
  input: unknown,
  changes: readonly InputChange[],
): { readonly input: unknown } | undefined => {
  let changed: { readonly value: unknown } | undefined = { value: input };
  for (const change of changes) {
    changed = changeAt(changed.value, change.path, change);
    if (changed === undefined) return undefined;
  }
  return { input: changed.value };
};

/** What `replaceInput` needs of a Leasehold. */
interface JobEditor {
  runInTransaction<T>(callback: (ctx: object) => Promise<T>): Promise<T>;
  readonly jobs: {
    redrive(options: { readonly ids: readonly string[] }): Promise<RedriveReport<string>>;
    update(options: {
      readonly ids: readonly string[];
      readonly typeName: string;
      readonly input: unknown;
    }): Promise<UpdateReport<string>>;
  };
}

/** Thrown to undo a redrive whose job got no new input. */
class NotReplaced extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Gives a waiting job another input, or runs a failed job again with another input, in one transaction. Returns why it did not,
 * or undefined.
 */
export const replaceInput = async (
  leasehold: JobEditor,
  { id, typeName, status }: { readonly id: string; readonly typeName: string; readonly status: string },
  input: unknown,
): Promise<string | undefined> => {
  try {
    await leasehold.runInTransaction(async (ctx) => {
      if (status === "failed") {
        const { skipped } = await leasehold.jobs.redrive({ ...ctx, ids: [id] });
        if (skipped[0] !== undefined) throw new NotReplaced(skipped[0].reason);
      }
      const { skipped } = await leasehold.jobs.update({ ...ctx, ids: [id], typeName, input });
      if (skipped[0] !== undefined) throw new NotReplaced(skipped[0].reason);
    });
  } catch (error) {
    if (error instanceof NotReplaced) return error.reason;
    throw error;
  }
  return undefined;
};
