import { type Command, Option } from "commander";
import type { FailureReason, JobStatus } from "leasehold";
import { failureReasons, jobStatuses } from "leasehold/adapter";
import { CliError } from "../output/exit-codes.ts";
import { collect, collectOneOf, collectWhole, parseInteger, parseMoment } from "./values.ts";

export interface FilterOptions {
  readonly status?: readonly JobStatus[];
  readonly queue?: readonly string[];
  readonly type?: readonly string[];
  readonly sequenceType?: readonly string[];
  readonly key?: readonly string[];
  readonly sequence?: string;
  readonly root?: string;
  readonly reason?: readonly FailureReason[];
  readonly cause?: readonly string[];
  readonly worker?: readonly string[];
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly scheduledAfter?: Date;
  readonly scheduledBefore?: Date;
  readonly finishedAfter?: Date;
  readonly finishedBefore?: Date;
}

export interface AddedFilters {
  readonly status: boolean;
  /** Not where the option means something else. Default: true. */
  readonly reason?: boolean;
}

/** Adds the options that choose jobs. Those of lists can be repeated, or take values with commas between them. */
export const addFilterOptions = (command: Command, { status, reason = true }: AddedFilters): Command => {
  if (status) {
    command.addOption(
      new Option("-s, --status <status>", `jobs in this status: ${jobStatuses.join(", ")}`).argParser(
        collectOneOf(jobStatuses),
      ),
    );
  }
  if (reason) {
    command.addOption(
      new Option("--reason <reason>", `failed for this reason: ${failureReasons.join(", ")}`).argParser(
        collectOneOf(failureReasons),
      ),
    );
  }
  return command
    .addOption(new Option("-q, --queue <queue>", "jobs of this queue").argParser(collect))
    .addOption(new Option("-t, --type <type>", "jobs of this type").argParser(collect))
    .addOption(
      new Option("--sequence-type <type>", "jobs of sequences that began with this type").argParser(collect),
    )
    .addOption(new Option("--key <key>", "jobs started with this deduplication key").argParser(collectWhole))
    .option("--sequence <id>", "jobs of this sequence")
    .option("--root <id>", "jobs of the tree below this sequence")
    .addOption(new Option("--cause <fingerprint>", "failed with this kind of error").argParser(collectWhole))
    .addOption(new Option("--worker <id>", "jobs that this worker runs").argParser(collectWhole))
    .option("--created-after <when>", "created since: a date, or how long ago (2h)", parseMoment)
    .option("--created-before <when>", "created before", parseMoment)
    .option("--scheduled-after <when>", "to run then or later: a date, or 0s for now", parseMoment)
    .option("--scheduled-before <when>", "to run before", parseMoment)
    .option("--finished-after <when>", "completed or failed since", parseMoment)
    .option("--finished-before <when>", "completed or failed before", parseMoment);
};

export interface JobFilter {
  readonly status?: readonly JobStatus[] | undefined;
  readonly queue?: readonly string[] | undefined;
  readonly typeName?: readonly string[] | undefined;
  readonly sequenceTypeName?: readonly string[] | undefined;
  readonly deduplicationKey?: readonly string[] | undefined;
  readonly sequenceId?: string | undefined;
  readonly rootSequenceId?: string | undefined;
  readonly failureReason?: readonly FailureReason[] | undefined;
  readonly fingerprint?: readonly string[] | undefined;
  readonly leasedBy?: readonly string[] | undefined;
  readonly createdFrom?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly scheduledFrom?: Date | undefined;
  readonly scheduledBefore?: Date | undefined;
  readonly finishedFrom?: Date | undefined;
  readonly finishedBefore?: Date | undefined;
}

/** The same in the words of `jobs.list`, without what was not asked for. */
export const toFilter = (options: FilterOptions): JobFilter => {
  const filter: JobFilter = {
    status: options.status,
    queue: options.queue,
    typeName: options.type,
    sequenceTypeName: options.sequenceType,
    deduplicationKey: options.key,
    sequenceId: options.sequence,
    rootSequenceId: options.root,
    failureReason: options.reason,
    fingerprint: options.cause,
    leasedBy: options.worker,
    createdFrom: options.createdAfter,
    createdBefore: options.createdBefore,
    scheduledFrom: options.scheduledAfter,
    scheduledBefore: options.scheduledBefore,
    finishedFrom: options.finishedAfter,
    finishedBefore: options.finishedBefore,
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
};

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
