import Table from "cli-table3";
import type { Output } from "./output.ts";
import { shorten, textWidth } from "./text.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Where there is little room, its texts are cut, but not below this many columns. Default: never cut. */
  readonly least?: number;
  /** Where that does not suffice, columns are left out, the highest number first. Default: never left out. */
  readonly dispensable?: number;
  /** A shorter form of a text, taken before columns are left out. */
  readonly short?: (text: string) => string;
}

export interface Cell {
  readonly text: string;
  /** Colours are added at the end: they take no room. */
  readonly paint?: (text: string) => string;
}

export type Row = readonly (Cell | string)[];

/** Where a table has to fit. */
export type Screen = Pick<Output, "colours" | "columns">;

const gap = 2;

const plainBorders = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: " ".repeat(gap),
};

interface FittedColumn extends Column {
  readonly cells: readonly Cell[];
  readonly width: number;
}

const measure = (column: Column, cells: readonly Cell[]): FittedColumn => ({
  ...column,
  cells,
  width: Math.max(textWidth(column.title), ...cells.map(({ text }) => textWidth(text))),
});

const widthOf = (columns: readonly FittedColumn[]): number =>
  columns.reduce((sum, { width }) => sum + width, 0) + gap * Math.max(0, columns.length - 1);

/** Takes from the widest columns what is too much; undefined when all are at their least. */
const squeeze = (columns: readonly FittedColumn[], room: number): FittedColumn[] | undefined => {
  const widths = columns.map(({ width }) => width);
  for (let excess = widthOf(columns) - room; excess > 0; excess -= 1) {
    const spare = (index: number): number => {
      const { least } = columns[index]!;
      return least !== undefined && widths[index]! > least ? widths[index]! : 0;
    };
    const widest = columns.reduce((best, _column, index) => (spare(index) > spare(best) ? index : best), 0);
    if (spare(widest) === 0) return undefined;
    widths[widest] = widths[widest]! - 1;
  }
  return columns.map((column, index) => ({ ...column, width: widths[index]! }));
};

const abbreviate = (column: FittedColumn): FittedColumn => {
  const { short } = column;
  if (short === undefined) return column;
  return measure(
    column,
    column.cells.map((cell) => ({ ...cell, text: short(cell.text) })),
  );
};

const withoutMostDispensable = (columns: readonly FittedColumn[]): FittedColumn[] | undefined => {
  const highest = Math.max(...columns.map(({ dispensable = -1 }) => dispensable));
  return highest < 0 ? undefined : columns.filter(({ dispensable }) => dispensable !== highest);
};

/** In this order: cut texts, shorten ids, leave out columns. */
const fit = (columns: readonly FittedColumn[], room: number): readonly FittedColumn[] => {
  let remaining: FittedColumn[] = [...columns];
  let fitting = squeeze(remaining, room);
  if (fitting !== undefined) return fitting;
  remaining = remaining.map(abbreviate);
  for (;;) {
    fitting = squeeze(remaining, room);
    if (fitting !== undefined) return fitting;
    const fewer = withoutMostDispensable(remaining);
    // The last resort: as few characters as it takes, of whatever may be cut at all.
    if (fewer === undefined) {
      const yielding = remaining.map((column) =>
        column.least === undefined ? column : { ...column, least: 1 },
      );
      return squeeze(yielding, room) ?? remaining;
    }
    remaining = fewer;
  }
};

/** A table without lines, which is what reads and copies best in a terminal, made to fit its width. */
export const renderTable = (
  { colours, columns: room }: Screen,
  columns: readonly Column[],
  rows: readonly Row[],
): string => {
  const cellOf = (cell: Cell | string | undefined): Cell =>
    typeof cell === "object" ? cell : { text: cell ?? "" };
  const measured = columns.map((column, index) =>
    measure(
      column,
      rows.map((row) => cellOf(row[index])),
    ),
  );
  const fitted = fit(measured, room);
  const table = new Table({
    head: fitted.map(({ title }) => colours.dim(title)),
    colAligns: fitted.map(({ align }) => align ?? "left"),
    chars: plainBorders,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  for (const index of rows.keys()) {
    table.push(
      fitted.map(({ cells, width }) => {
        const { text, paint = (plain: string) => plain } = cells[index]!;
        return paint(shorten(text, width));
      }),
    );
  }
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
};
