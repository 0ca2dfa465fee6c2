import type { NotificationKind } from "./kinds.ts";

/** Notifications that wait to be sent: of each kind its names, and how often each was added. */
export interface NotificationBatch {
  readonly isEmpty: boolean;
  /** Only kinds that have names. */
  readonly byKind: ReadonlyMap<NotificationKind, ReadonlyMap<string, number>>;
  add(kind: NotificationKind, name: string, count?: number): void;
  merge(other: NotificationBatch): void;
}

export const createNotificationBatch = (): NotificationBatch => {
  const byKind = new Map<NotificationKind, Map<string, number>>();

  const add = (kind: NotificationKind, name: string, count = 1): void => {
    let names = byKind.get(kind);
    if (!names) byKind.set(kind, (names = new Map()));
    names.set(name, (names.get(name) ?? 0) + count);
  };

  return {
    byKind,
    get isEmpty() {
      return byKind.size === 0;
    },
    add,
    merge: (other) => {
      for (const [kind, names] of other.byKind) for (const [name, count] of names) add(kind, name, count);
    },
  };
};
