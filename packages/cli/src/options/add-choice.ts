import type { Command } from "commander";
import { type AddedFilters, addFilterOptions } from "./job-filter.ts";
import { parseInteger } from "./values.ts";

/** Options of a command that changes jobs: filters, or all of them, and how. */
export const addChoice = (
  command: Command,
  { all, ...added }: Omit<AddedFilters, "status"> & { readonly all: string },
): Command =>
  addFilterOptions(command, { ...added, status: false })
    .option("-a, --all", all)
    .option(
      "-n, --limit <number>",
      "how many at most (default: all)",
      parseInteger(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--dry-run", "only say what would happen", false)
    .option("-y, --yes", "do not ask");
