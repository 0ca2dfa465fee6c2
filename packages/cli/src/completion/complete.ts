import type { Command, Option } from "commander";
import type { JobStatus } from "leasehold";
import { failureReasons, jobStatuses } from "leasehold/adapter";
import { setTimeout as sleep } from "node:timers/promises";
import type { CommandContext, GlobalOptions } from "../commands/context.ts";
import type { FoundConfig } from "../config/load.ts";
import { formatMoment, oneLine } from "../output/text.ts";
import { configuredTypeNames, recentNames } from "../store/find-job.ts";
import type { AnyLeasehold, OpenedStore } from "../store/store.ts";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What only the store knows. */
export type Wanted =
  | { readonly kind: "queue" | "type" | "recurring" }
  | { readonly kind: "id"; readonly status?: readonly JobStatus[] };

export interface Completion {
  /** What may stand in place of the last word. */
  readonly candidates: readonly Candidate[];
  /** To be looked up, for values that begin with `start`, and completed to `prefix` + value. */
  readonly wanted?: Wanted;
  readonly start: string;
  readonly prefix: string;
  /** The shell's own completion of paths will do. */
  readonly files: boolean;
}

const fixedValues = (option: Option): readonly string[] => {
  if (option.argChoices !== undefined) return option.argChoices;
  if (option.long === "--status") return jobStatuses;
  if (option.long === "--reason") return failureReasons;
  return [];
};

const wantedByOption: Readonly<Record<string, Wanted>> = {
  "--queue": { kind: "queue" },
  "--recurring": { kind: "recurring" },
  "--type": { kind: "type" },
  "--sequence-type": { kind: "type" },
  "--sequence": { kind: "id" },
  "--root": { kind: "id" },
  "--after": { kind: "id" },
};

/** By the path of the command, for its arguments. */
const wantedByCommand: Readonly<Record<string, Wanted>> = {
  ...Object.fromEntries(
    ["show", "preview", "edit", "pause", "resume", "trigger", "delete"].map((verb) => [
      `recurring ${verb}`,
      { kind: "recurring" } as const,
    ]),
  ),
  start: { kind: "type" },
  groups: { kind: "type" },
  inspect: { kind: "id" },
  cancel: { kind: "id", status: ["blocked", "pending", "running"] },
  complete: { kind: "id", status: ["blocked", "pending", "running"] },
  delete: { kind: "id", status: ["completed", "failed"] },
  "failed redrive": { kind: "id", status: ["failed"] },
  "failed delete": { kind: "id", status: ["failed"] },
};

const optionsWithFiles = new Set(["--config"]);

const commandsWithFiles = new Set(["worker run"]);

const isHidden = (command: Command): boolean => command.name().startsWith("__");

interface Place {
  readonly command: Command;
  /** The names of the commands from the top. */
  readonly path: string;
  readonly options: readonly Option[];
  readonly argumentCount: number;
}

const takesValue = ({ required, optional }: Option): boolean => required || optional;

/** Walks down the words to the command they name. */
const locate = (program: Command, words: readonly string[]): Place => {
  let command = program;
  const path: string[] = [];
  let options: readonly Option[] = program.options;
  let argumentCount = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    if (word.startsWith("-")) {
      const option = options.find(({ long, short }) => word === long || word === short);
      if (option !== undefined && takesValue(option)) index += 1;
      continue;
    }
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next === undefined) argumentCount += 1;
    else {
      command = next;
      path.push(next.name());
      options = [...next.options, ...program.options];
    }
  }
  return { command, path: path.join(" "), options, argumentCount };
};

const completeValue = (option: Option, start: string, prefix: string): Completion => {
  const wanted = wantedByOption[option.long ?? ""];
  return {
    candidates: fixedValues(option)
      .filter((value) => value.startsWith(start))
      .map((value) => ({ value: `${prefix}${value}`, description: "" })),
    ...(wanted === undefined ? {} : { wanted }),
    start,
    prefix,
    files: optionsWithFiles.has(option.long ?? ""),
  };
};

const completeArgument = ({ command, path, argumentCount }: Place, start: string): Completion => {
  const argument =
    command.registeredArguments[Math.min(argumentCount, command.registeredArguments.length - 1)];
  const isOpen =
    argument !== undefined && (argument.variadic || argumentCount < command.registeredArguments.length);
  const wanted = isOpen ? wantedByCommand[path] : undefined;
  const choices = isOpen ? (argument.argChoices ?? []) : [];
  return {
    candidates: [
      ...command.commands
        .filter((sub) => !isHidden(sub))
        .map((sub) => ({ value: sub.name(), description: sub.description() })),
      ...choices.map((value) => ({ value, description: "" })),
    ].filter(({ value }) => value.startsWith(start)),
    ...(wanted === undefined ? {} : { wanted }),
    start,
    prefix: "",
    files: isOpen && commandsWithFiles.has(path),
  };
};

/** Completions of the last word. */
export const complete = (program: Command, words: readonly string[]): Completion => {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const place = locate(program, before);
  const previous = before.at(-1);
  const open = place.options.find(
    ({ long, short, required }) =>
      required && previous !== undefined && (previous === long || previous === short),
  );
  if (open !== undefined) return completeValue(open, last, "");
  const [, name, start] = /^(--[\w-]+)=(.*)$/.exec(last) ?? [];
  const assigned = place.options.find((option) => option.long === name && takesValue(option));
  if (assigned !== undefined) return completeValue(assigned, start ?? "", `${name}=`);
  if (!last.startsWith("-")) return completeArgument(place, last);
  const candidates = [
    ...place.options.flatMap(({ long, description }) => (long ? [{ value: long, description }] : [])),
    { value: "--help", description: "show what there is" },
  ].filter(({ value }) => value.startsWith(last));
  return { candidates, start: last, prefix: "", files: false };
};

// The user waits for the completion.
const patienceMs = 1_500;

const mostIds = 50;

const idSample = 500;

const idCandidates = async (
  leasehold: AnyLeasehold,
  { status }: Extract<Wanted, { kind: "id" }>,
  start: string,
): Promise<Candidate[]> => {
  const { jobs } = await leasehold.jobs.list({ status, limit: start === "" ? mostIds : idSample });
  const now = Date.now();
  return jobs
    .filter(({ id }) => id.startsWith(start))
    .slice(0, mostIds)
    .map((job) => ({
      value: job.id,
      description: oneLine(`${job.typeName}, ${job.status}, ${formatMoment(job.createdAt, now)}`),
    }));
};

const recurringCandidates = async (leasehold: AnyLeasehold, start: string): Promise<Candidate[]> => {
  const { recurringJobs } = await leasehold.recurring.list({ limit: idSample });
  return recurringJobs
    .filter(({ id }) => id.startsWith(start))
    .slice(0, mostIds)
    .map(({ id, cron, job }) => ({
      value: id,
      description: oneLine(cron === null ? job.typeName : `${job.typeName}, ${cron}`),
    }));
};

const look = async (
  { leasehold }: OpenedStore,
  found: FoundConfig | undefined,
  wanted: Wanted,
  start: string,
): Promise<Candidate[]> => {
  if (wanted.kind === "id") return idCandidates(leasehold, wanted, start);
  if (wanted.kind === "recurring") return recurringCandidates(leasehold, start);
  const { queues, typeNames } = await recentNames(leasehold);
  const names =
    wanted.kind === "queue" ? queues : [...configuredTypeNames(found?.config.jobTypes), ...typeNames];
  return [...new Set(names)].map((value) => ({ value, description: "" }));
};

/** Values that the store knows: a few of the newest, soon or not at all, and never an error. */
export const candidatesFromStore = async (
  context: CommandContext,
  options: Partial<GlobalOptions>,
  wanted: Wanted,
  start: string,
): Promise<readonly Candidate[]> => {
  const looking = context.withStore({ options }, (store, found) => look(store, found, wanted, start));
  const found = await Promise.race([
    looking.catch((): Candidate[] => []),
    sleep(patienceMs, [] as Candidate[], { ref: false }),
  ]);
  // A shell would take others apart.
  return found.filter(({ value }) => value.startsWith(start) && /^[^\s'"\\$`\p{C}]+$/u.test(value));
};
