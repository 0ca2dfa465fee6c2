import type { ComponentChildren } from "preact";
import { changeQuery, place } from "../state/router.ts";

type SortValue = string | number | null | undefined;

const compare = (a: SortValue, b: SortValue): number => {
  // What is not known comes last, in either direction.
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
};

/** Rows in the order that the address names, by one of their columns; else as they are. */
export const sortRows = <T,>(
  rows: readonly T[],
  columns: Readonly<Record<string, (row: T) => SortValue>>,
): readonly T[] => {
  const wanted = place.value.query.get("sort") ?? "";
  const isDown = wanted.startsWith("-");
  const valueOf = columns[isDown ? wanted.slice(1) : wanted];
  if (valueOf === undefined) return rows;
  return [...rows].sort((a, b) => {
    const [one, other] = [valueOf(a), valueOf(b)];
    return one == null || other == null || !isDown ? compare(one, other) : compare(other, one);
  });
};

/** The heading of a column by which the rows can be sorted. Numbers begin with the largest. */
export const SortHead = ({
  name,
  number = false,
  title,
  children,
}: {
  readonly name: string;
  readonly number?: boolean;
  readonly title?: string;
  readonly children: ComponentChildren;
}) => {
  const wanted = place.value.query.get("sort");
  const order = wanted === name ? "ascending" : wanted === `-${name}` ? "descending" : undefined;
  const [first, second] = number ? [`-${name}`, name] : [name, `-${name}`];
  const next = wanted === first ? second : wanted === second ? undefined : first;
  return (
    <th class={number ? "number" : ""} aria-sort={order} title={title}>
      <button type="button" class="sort" onClick={() => changeQuery({ sort: next }, { replace: true })}>
        {children}
      </button>
    </th>
  );
};
