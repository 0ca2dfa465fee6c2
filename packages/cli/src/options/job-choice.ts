import { CliError } from "../cli-error.ts";
import { type FilterOptions, type JobFilter, toFilter } from "./job-filter.ts";

/** Which jobs a command is about, and how. */
export interface JobChoice extends Omit<FilterOptions, "status"> {
  readonly all?: boolean;
  readonly dryRun: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
}

export interface ReadChoice {
  /** Absent when ids were given. */
  readonly filter: Omit<JobFilter, "status"> | undefined;
  readonly limit: number | undefined;
}

/** Exactly one of ids, filters and `--all`: a forgotten filter must not mean everything. */
export const readChoice = (ids: readonly string[], choice: JobChoice): ReadChoice => {
  const { status: _status, ...filter } = toFilter(choice);
  const filtered = Object.keys(filter).length > 0;
  if ([ids.length > 0, filtered, choice.all === true].filter(Boolean).length !== 1) {
    throw new CliError("Usage", "Give either ids, or filters, or --all.", {
      hint: "For instance `--type send-mail --created-after 2h`; --dry-run shows what would happen.",
    });
  }
  return { filter: ids.length > 0 ? undefined : filter, limit: choice.limit };
};
