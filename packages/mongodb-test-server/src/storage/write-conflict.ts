import { CommandError } from "../errors.ts";

export const writeConflict = (): CommandError =>
  new CommandError(
    "WriteConflict",
    "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or multi-document transaction.",
  );
