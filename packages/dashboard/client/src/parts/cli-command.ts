import type { Choice } from "../state/plan.ts";

const quote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const flags: Readonly<Record<string, string>> = {
  queue: "--queue",
  typeName: "--type",
  sequenceTypeName: "--sequence-type",
  deduplicationKey: "--key",
  failureReason: "--reason",
  rootSequenceId: "--root",
  createdFrom: "--created-after",
  createdBefore: "--created-before",
  finishedFrom: "--finished-after",
  finishedBefore: "--finished-before",
};

/** The others take ids only. */
const takesFilter = new Set(["leasehold failed redrive", "leasehold waiting run-now"]);

const mostIds = 20;

/** What to type for the same; undefined where the command line has no words for it. */
export const commandFor = (command: string, choice: Choice): string | undefined => {
  if ("ids" in choice)
    return choice.ids.length > mostIds
      ? undefined
      : [command, ...choice.ids.map(quote), "--dry-run"].join(" ");
  if (!takesFilter.has(command)) return undefined;
  const entries = Object.entries(choice.filter);
  if (entries.some(([name]) => !Object.hasOwn(flags, name))) return undefined;
  const words = entries.flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).flatMap((single) => [flags[name]!, quote(single)]),
  );
  return [command, ...(words.length === 0 ? ["--all"] : words), "--dry-run"].join(" ");
};
