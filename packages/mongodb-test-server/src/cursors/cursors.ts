import { Long } from "bson";
import { CommandError } from "../errors.ts";
import type { Document } from "../bson-values/types.ts";

export interface Batch {
  readonly documents: readonly Document[];
  readonly isExhausted: boolean;
  readonly postBatchResumeToken?: Document;
}

export interface CursorSource {
  /** Up to `size` documents; `waitMs` is how long a stream of changes may wait for the first. */
  next(size: number, waitMs: number): Batch | Promise<Batch>;
  close?(): void;
  /** Its readers resume after transient errors, which say so. */
  readonly isChangeStream?: boolean;
}

export interface Cursor {
  readonly id: Long;
  readonly namespace: string;
  readonly source: CursorSource;
}

export interface Cursors {
  open(namespace: string, source: CursorSource): Cursor;
  get(id: Long): Cursor;
  /** Whether it was there. */
  close(id: Long): boolean;
  count(): number;
}

export const createCursors = (): Cursors => {
  const cursors = new Map<string, Cursor>();
  let last = 1_000_000_000_000;
  return {
    open: (namespace, source) => {
      const cursor = { id: Long.fromNumber(++last), namespace, source };
      cursors.set(cursor.id.toString(), cursor);
      return cursor;
    },
    get: (id) => {
      const cursor = cursors.get(id.toString());
      if (cursor === undefined)
        throw new CommandError("CursorNotFound", `cursor id ${id.toString()} not found`);
      return cursor;
    },
    close: (id) => {
      cursors.get(id.toString())?.source.close?.();
      return cursors.delete(id.toString());
    },
    count: () => cursors.size,
  };
};
