import Table from "cli-table3";
import type { Output } from "./output.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

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
  middle: "  ",
};

/** A table without lines, which is what reads and copies best in a terminal. */
export const renderTable = (
  { colours }: Pick<Output, "colours">,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string => {
  const table = new Table({
    head: columns.map(({ title }) => colours.dim(title)),
    colAligns: columns.map(({ align }) => align ?? "left"),
    chars: plainBorders,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
};
