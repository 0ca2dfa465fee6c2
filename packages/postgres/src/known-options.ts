import { type OptionNames, requireOptions } from "leasehold/adapter";

/** The options that a caller passed, of which none has an unknown name. Their values are still to be checked. */
export const readKnownOptions = <TOptions extends object>(
  passed: TOptions,
  functionName: string,
  known: OptionNames<keyof TOptions & string>,
): TOptions => requireOptions(passed, functionName, known) as TOptions;
