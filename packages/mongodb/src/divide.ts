import { isConflict } from "./transient-errors.ts";

/**
 * Handles all items in one transaction. A transaction meets one that somebody else holds with a conflict, at once, but does not
 * say which it was: so halves are tried, and halves of these, until the held ones are left alone.
 */
export const divide = async <TItem, TResult>(
  items: readonly TItem[],
  attempt: (items: readonly TItem[]) => Promise<readonly TResult[]>,
  whenHeld: (item: TItem) => TResult | Promise<TResult>,
): Promise<TResult[]> => {
  if (items.length === 0) return [];
  try {
    return [...(await attempt(items))];
  } catch (error) {
    if (!isConflict(error)) throw error;
    if (items.length === 1) return [await whenHeld(items[0]!)];
  }
  const half = Math.ceil(items.length / 2);
  return [
    ...(await divide(items.slice(0, half), attempt, whenHeld)),
    ...(await divide(items.slice(half), attempt, whenHeld)),
  ];
};
