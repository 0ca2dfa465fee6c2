import { requireFunction } from "../model/option-checks.ts";
import { shielded } from "../shielded.ts";

/** The `onError` option of a notify adapter, checked, and safe to call: what it throws, or rejects with, goes no further. */
export const readOnError = (onError: unknown = () => undefined): ((error: unknown) => void) => {
  const report = requireFunction<(error: unknown) => unknown>(onError, "onError");
  return (error) => shielded(() => report(error));
};
