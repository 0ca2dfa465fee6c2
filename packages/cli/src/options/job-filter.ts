import { type Command, Option } from "commander";
import type { FailureReason, JobStatus } from "leasehold";
import { failureReasons, jobStatuses } from "leasehold/adapter";
import { collect, collectOneOf, collectWhole, parseMoment } from "./values.ts";

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

/** The same in the words of `listJobs`, without what was not asked for. */
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
