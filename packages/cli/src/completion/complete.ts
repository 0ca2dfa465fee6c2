import type { Command, Option } from "commander";
import { failureReasons, jobStatuses } from "leasehold/adapter";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

const valuesOf = (option: Option): readonly string[] => {
  if (option.argChoices !== undefined) return option.argChoices;
  if (option.long === "--status") return jobStatuses;
  if (option.long === "--reason") return failureReasons;
  return [];
};

const isHidden = (command: Command): boolean => command.name().startsWith("__");

/** Walks down the words to the command they name. */
const locate = (
  program: Command,
  words: readonly string[],
): { readonly command: Command; readonly options: readonly Option[]; readonly argumentCount: number } => {
  let command = program;
  let options: readonly Option[] = program.options;
  let argumentCount = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!;
    if (word.startsWith("-")) {
      const option = options.find(({ long, short }) => word === long || word === short);
      if (option !== undefined && (option.required || option.optional)) index += 1;
      continue;
    }
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next === undefined) argumentCount += 1;
    else {
      command = next;
      options = [...next.options, ...program.options];
    }
  }
  return { command, options, argumentCount };
};

/** What may stand in place of the last word. */
export const complete = (program: Command, words: readonly string[]): Candidate[] => {
  const last = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const { command, options, argumentCount } = locate(program, before);
  const previous = before.at(-1);
  const open = options.find(
    ({ long, short, required }) =>
      required && previous !== undefined && (previous === long || previous === short),
  );
  const candidates: Candidate[] =
    open !== undefined
      ? valuesOf(open).map((value) => ({ value, description: "" }))
      : last.startsWith("-")
        ? [
            ...options.flatMap(({ long, description }) => (long ? [{ value: long, description }] : [])),
            { value: "--help", description: "show what there is" },
          ]
        : [
            ...command.commands
              .filter((sub) => !isHidden(sub))
              .map((sub) => ({ value: sub.name(), description: sub.description() })),
            ...(command.registeredArguments[argumentCount]?.argChoices ?? []).map((value) => ({
              value,
              description: "",
            })),
          ];
  return candidates.filter(({ value }) => value.startsWith(last));
};
