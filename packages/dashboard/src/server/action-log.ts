import { randomUUID } from "node:crypto";
import type { AnyStateAdapter, History, StateAction } from "leasehold/adapter";

/** An action as it is in the log. */
export interface ActionEntry {
  readonly id: string;
  readonly user: string;
  readonly kind: string;
  readonly plan: unknown;
  readonly result: unknown;
  readonly startedAt: string;
  readonly changedAt: string | null;
}

export interface ActionLog {
  /** Written before the action begins, so that one that never came back is seen, too. */
  begin(user: string, kind: string, plan: object): Promise<string>;
  /** Replaces what is known of its result. */
  update(id: string, user: string, kind: string, result: object): Promise<void>;
  /** The same, but only if its result still is what was read or written before; whether it was. */
  replace(id: string, from: unknown, to: object): Promise<boolean>;
  get(id: string): Promise<ActionEntry | undefined>;
  list(limit: number, after: string | undefined): Promise<{ actions: ActionEntry[]; cursor: string | null }>;
}

type Store = Pick<History<object>, "recordAction" | "replaceActionResult" | "getActions" | "listActions">;

const mostKept = 200;

/** For stores without a history: the latest actions of this process. */
const createMemoryLog = (): Store => {
  const kept = new Map<string, StateAction>();
  return {
    recordAction: async ({ action }) => {
      const known = kept.get(action.id);
      const now = Date.now();
      kept.set(action.id, {
        ...(known ?? { ...action, startedAt: now }),
        result: action.result,
        changedAt: action.result === null ? null : now,
      });
      if (kept.size > mostKept) kept.delete(kept.keys().next().value!);
    },
    replaceActionResult: async ({ id, from, to }) => {
      const known = kept.get(id);
      if (known === undefined || known.result !== from) return false;
      kept.set(id, { ...known, result: to, changedAt: Date.now() });
      return true;
    },
    getActions: async ({ ids }) => ids.map((id) => kept.get(id)),
    listActions: async ({ limit, after }) => {
      const all = [...kept.values()].reverse();
      const from = after === null ? 0 : all.findIndex(({ id }) => id === after.id) + 1;
      return all.slice(from, from + limit);
    },
  };
};

const read = (text: string | null): unknown => {
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
};

const toLogged = ({ id, actor, kind, plan, result, startedAt, changedAt }: StateAction): ActionEntry => ({
  id,
  user: actor,
  kind,
  plan: read(plan),
  result: read(result),
  startedAt: new Date(startedAt).toISOString(),
  changedAt: changedAt === null ? null : new Date(changedAt).toISOString(),
});

const toCursor = ({ startedAt, id }: StateAction): string => `${startedAt}.${id}`;

const fromCursor = (cursor: string | undefined): { startedAt: number; id: string } | null => {
  const [, startedAt, id] = /^(\d{1,16})\.(.+)$/.exec(cursor ?? "") ?? [];
  return startedAt === undefined || id === undefined ? null : { startedAt: Number(startedAt), id };
};

/** Who did what to which jobs. */
export const createActionLog = ({ history }: AnyStateAdapter): ActionLog => {
  const store: Store = history ?? createMemoryLog();
  return {
    begin: async (actor, kind, plan) => {
      const id = randomUUID();
      await store.recordAction({ action: { id, actor, kind, plan: JSON.stringify(plan), result: null } });
      return id;
    },
    update: (id, actor, kind, result) =>
      store.recordAction({ action: { id, actor, kind, plan: "null", result: JSON.stringify(result) } }),
    // Whatever was made by JSON.stringify is the same text after reading and writing it again.
    replace: (id, from, to) =>
      store.replaceActionResult({
        id,
        from: from === null ? null : JSON.stringify(from),
        to: JSON.stringify(to),
      }),
    get: async (id) => {
      const [action] = await store.getActions({ ids: [id] });
      return action && toLogged(action);
    },
    list: async (limit, after) => {
      const actions = await store.listActions({ limit, after: fromCursor(after) });
      const last = actions.at(-1);
      const cursor = last === undefined || actions.length < limit ? null : toCursor(last);
      return { actions: actions.map(toLogged), cursor };
    },
  };
};
