import { ProcessMisuseError } from "../errors.ts";
import { isArray, isInstance } from "../model/option-checks.ts";
import type { JobRequest } from "./new-job.ts";

/*
 * A batch handler returns an array with a place for each job. In a place is the output of the job, or one of these.
 */

/** The job of this place has failed. */
export class FailedPlace {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** The sequence of the job in this place goes on with another job. */
export class ContinuedPlace {
  readonly request: JobRequest;
  constructor(request: JobRequest) {
    this.request = request;
  }
}

export const isFailedPlace = (place: unknown): place is FailedPlace => isInstance(place, FailedPlace);

export const isContinuedPlace = (place: unknown): place is ContinuedPlace =>
  isInstance(place, ContinuedPlace);

/** What was returned, place by place. Nothing at all stands for nothing in every place. */
export const readPlaces = (returned: unknown, jobs: number): readonly unknown[] => {
  if (returned === undefined) return Array.from({ length: jobs });
  const length = isArray(returned) ? returned.length : undefined;
  if (length === jobs) return Array.from({ length }, (_place, index) => (returned as unknown[])[index]);
  const what = length === undefined ? "something that is not an array" : `${length} outputs`;
  throw new ProcessMisuseError(
    `The handler of a batch of ${jobs} jobs returned ${what}. Return one output for each job, in the order of the jobs`,
  );
};
