import { requireNestedOptions } from "./option-checks.ts";
import { parseRetention, type RetentionOptions } from "./retention.ts";

/** What counts for all jobs of an instance, unless something else is said for a type or a job. */
export interface LeaseholdDefaults {
  /** How long finished jobs are kept; workers remove them afterwards. Default: for ever. */
  readonly retention?: RetentionOptions | undefined;
}

export const parseDefaults = (value: unknown = {}): LeaseholdDefaults => {
  const { retention } = requireNestedOptions<keyof LeaseholdDefaults>(value, "defaults", { retention: true });
  return { retention: retention === undefined ? undefined : parseRetention(retention, "defaults.retention") };
};
