import type {
  ListActionsCall,
  NewAction,
  ReplaceActionResultCall,
  StateAction,
} from "../../store/contract/actions.ts";
import { byBytes } from "../by-bytes.ts";
import type { TableRows, Tables } from "../tables.ts";

export const recordAction = (tables: Tables, action: NewAction, now: number): void => {
  const { result } = action;
  const changedAt = result === null ? null : now;
  const known = tables.rows().actions.get(action.id) ?? { ...action, startedAt: now };
  tables.change("actions", (actions) => actions.set(action.id, { ...known, result, changedAt }));
};

export const replaceActionResult = (
  tables: Tables,
  { id, from, to }: ReplaceActionResultCall,
  now: number,
): boolean => {
  const known = tables.rows().actions.get(id);
  if (known === undefined || known.result !== from) return false;
  tables.change("actions", (actions) => actions.set(id, { ...known, result: to, changedAt: now }));
  return true;
};

const latestFirst = (
  a: Pick<StateAction, "startedAt" | "id">,
  b: Pick<StateAction, "startedAt" | "id">,
): number => b.startedAt - a.startedAt || byBytes(b.id, a.id);

export const listActions = (
  actions: TableRows["actions"],
  { limit, after }: ListActionsCall,
): StateAction[] =>
  [...actions.values()]
    .filter((action) => after === null || latestFirst(action, after) > 0)
    .sort(latestFirst)
    .slice(0, limit);
