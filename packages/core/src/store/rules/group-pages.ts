import type { GroupPage, GroupUse, ListGroupsCall } from "../contract/limits.ts";

/** How many groups a store reads for a page by name: some have no jobs, or are not wanted. */
export const groupsToRead = (limit: number): number => Math.max(limit + 1, 200);

/** The order of databases, by bytes. JavaScript compares UTF-16 units, which differs beyond U+FFFF. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The name up to which a store has read, by the number of names that it read; null if there are no more. */
export const readUpTo = (names: readonly string[], limit: number): string | null =>
  names.length < groupsToRead(limit) ? null : names.at(-1)!;

/**
 * Filters, sorts and cuts the groups of a type as `listGroups` returns them. `upTo` is where the store stopped reading by
 * name; null if it has read all groups.
 */
export const selectGroups = (
  groups: Iterable<GroupUse>,
  { throttled, order, limit }: Pick<ListGroupsCall, "throttled" | "order" | "limit">,
  upTo: string | null,
): GroupPage => {
  const since = ({ waitingSince }: GroupUse): number => waitingSince ?? Number.MAX_SAFE_INTEGER;
  const byOrder = {
    name: () => 0,
    waiting: (a: GroupUse, b: GroupUse) => since(a) - since(b),
    running: (a: GroupUse, b: GroupUse) => b.running - a.running,
  }[order];
  const selected = [...groups]
    .filter(({ throttledBy }) => throttled === undefined || throttled === (throttledBy !== null))
    .filter(({ waiting, running }) => waiting + running > 0)
    .sort((a, b) => byOrder(a, b) || byBytes(a.group, b.group));
  const page = selected.slice(0, limit);
  if (order !== "name") return { groups: page, next: null };
  return { groups: page, next: selected.length > limit ? page.at(-1)!.group : upTo };
};
