import type { CommanderError } from "commander";
import { exitCodes } from "../exit-codes.ts";
import type { ErrorDescription } from "./describe-error.ts";
import { oneLine, shorten } from "./printable.ts";

const longestQuote = 60;

/** An address in the wrong place is not repeated: nobody knows which part of it is the password. */
const quote = (given: string): string =>
  /\/\/|@/.test(given) ? "what was given" : `"${shorten(oneLine(given), longestQuote)}"`;

const optionName = (flags: string): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

interface Wording {
  readonly message: string;
  readonly hint?: string | undefined;
}

type Rewrite = (...parts: string[]) => Wording;

/** Commander's words, and ours. */
const rewrites: readonly (readonly [RegExp, Rewrite])[] = [
  [
    /^option '(.+?)' argument '([^]*)' is invalid\. ([^]*)$/,
    (flags, given, hint) => ({ message: `${optionName(flags)} cannot be ${quote(given)}.`, hint }),
  ],
  [
    /^command-argument value '([^]*)' is invalid for argument '(.+?)'\. ([^]*)$/,
    (given, name, hint) => ({ message: `<${name}> cannot be ${quote(given)}.`, hint }),
  ],
  [
    /^unknown option '([^]*?)'(?:\n\((.*)\))?$/,
    (given, hint) => ({ message: `There is no option ${quote(given).replaceAll('"', "")}.`, hint }),
  ],
  [
    /^unknown command '([^]*?)'(?:\n\((.*)\))?$/,
    (given, hint) => ({ message: `There is no command ${quote(given)}.`, hint }),
  ],
  [
    /^option '(.+?)' argument missing$/,
    (flags) => ({ message: `${optionName(flags)} needs a value: ${flags}.` }),
  ],
  [/^missing required argument '(.+?)'$/, (name) => ({ message: `<${name}> is missing.` })],
];

const reword = (text: string): Wording => {
  for (const [pattern, rewrite] of rewrites) {
    const match = pattern.exec(text);
    if (match !== null) return rewrite(...match.slice(1));
  }
  return { message: `${text.slice(0, 1).toUpperCase()}${text.slice(1)}` };
};

/** Wrong arguments in the same words and with the same advice as any other error. `usage` names the command. */
export const describeUsageError = (error: CommanderError, usage: string): ErrorDescription => {
  const { message, hint } = reword(error.message.replace(/^error: /, ""));
  return {
    code: "Usage",
    message,
    hint: hint ?? `See \`${usage} --help\`.`,
    exitCode: exitCodes.usage,
  };
};
