import { type Command, Option } from "commander";
import { type JobFilterField, jobFilterFields, type JobFilterOptions } from "leasehold";
import { failureReasons, jobStatuses } from "leasehold/adapter";
import { CliError } from "../output/exit-codes.ts";
import { collect, collectOneOf, collectWhole, parseInteger, parseMoment } from "./values.ts";

/** The parsed filters, by the names that commander gives them. Only the ones that are read here are declared. */
export interface FilterOptions {
  readonly type?: readonly string[];
  readonly sequence?: string;
  readonly root?: string;
}

export type JobFilter = JobFilterOptions<Record<string, never>, string>;

export interface AddedFilters {
  readonly status: boolean;
  /** Not where the option means something else. Default: true. */
  readonly reason?: boolean;
}

const optionOf = ({ kind, many, flag, description }: JobFilterField): Option => {
  const option = new Option(flag!, description);
  if (kind === "time") return option.argParser(parseMoment);
  if (kind === "status") return option.argParser(collectOneOf(jobStatuses));
  if (kind === "reason") return option.argParser(collectOneOf(failureReasons));
  if (many) return option.argParser(kind === "name" ? collect : collectWhole);
  return option;
};

const filters = jobFilterFields
  .filter(({ flag }) => flag !== null)
  .map((field) => ({ field, attribute: optionOf(field).attributeName() }));

/** Adds the options that choose jobs. Those of lists can be repeated, or take values with commas between them. */
export const addFilterOptions = (command: Command, { status, reason = true }: AddedFilters): Command => {
  for (const { field } of filters)
    if ((field.kind !== "status" || status) && (field.kind !== "reason" || reason))
      command.addOption(optionOf(field));
  return command;
};

/** The same in the words of `jobs.list`, without what was not asked for. */
export const toFilter = (options: FilterOptions): JobFilter =>
  Object.fromEntries(
    filters.flatMap(({ field, attribute }) => {
      const value = (options as Readonly<Record<string, unknown>>)[attribute];
      return value === undefined ? [] : [[field.name, value]];
    }),
  );

/** Options of a command that changes jobs: filters, or all of them, and how. */
export const addChoice = (
  command: Command,
  { all, ...added }: AddedFilters & { readonly all: string },
): Command =>
  addFilterOptions(command, added)
    .option("-a, --all", all)
    .option(
      "-n, --limit <number>",
      "how many at most (default: all)",
      parseInteger(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--dry-run", "only say what would happen", false)
    .option("-y, --yes", "do not ask");

/** Which jobs a command is about, and how. */
export interface JobChoice extends FilterOptions {
  readonly all?: boolean;
  readonly dryRun: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
}

export interface ReadChoice {
  /** Absent when ids were given. May have a status: the library refuses one that the operation cannot change. */
  readonly filter: Omit<JobFilter, "status"> | undefined;
  readonly limit: number | undefined;
}

/** Exactly one of ids, filters and `--all`: a forgotten filter must not mean everything. */
export const readChoice = (ids: readonly string[], choice: JobChoice): ReadChoice => {
  const filter = toFilter(choice);
  const filtered = Object.keys(filter).length > 0;
  if ([ids.length > 0, filtered, choice.all === true].filter(Boolean).length !== 1) {
    throw new CliError("Usage", "Give either ids, or filters, or --all.", {
      hint: "For instance `--type send-mail --created-after 2h`; --dry-run shows what would happen.",
    });
  }
  return { filter: ids.length > 0 ? undefined : filter, limit: choice.limit };
};
