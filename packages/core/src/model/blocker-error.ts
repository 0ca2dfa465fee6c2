import type { StateJob } from "./job.ts";
import { cut, parseStoredError, type StoredError } from "./stored-error.ts";

const longestMessage = 1_000;
const longestSummary = 300;
const errorName = "BlockerFailedError";

/** Without stacks: a failure may take thousands of jobs along. */
const withoutStack = ({ name, message, code }: StoredError): StoredError => ({
  name,
  message: cut(message, longestMessage),
  ...(code === undefined ? {} : { code }),
});

/**
 * The error of a job that fails because a sequence it waits for has failed: says which one, and what began it. Its cause
 * is the error at the beginning, through however many levels, so that the text does not grow with them.
 */
export const blockerErrorText = (
  blocker: Pick<StateJob, "sequenceId" | "sequenceTypeName" | "lastError">,
): string => {
  const { sequenceId, sequenceTypeName, lastError } = blocker;
  const own = parseStoredError(lastError);
  const first = own?.name === errorName ? own.cause : own;
  const story = `It waited for sequence ${sequenceId} ("${sequenceTypeName}"), which failed`;
  const stored: StoredError =
    first === undefined || first === null
      ? { name: errorName, message: `${story}.` }
      : {
          name: errorName,
          message: `${story}: ${first.name}: ${cut(first.message, longestSummary)}`,
          cause: withoutStack(first),
        };
  return JSON.stringify(stored);
};
