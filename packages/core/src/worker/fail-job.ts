import type { FailedOutput } from "../api/batches.ts";
import { FailedPlace } from "../engine/batch-places.ts";

/**
 * In the place of an output that a batch handler returns: fails this job, and no other. It is retried by its policy, as if
 * a handler of its own had thrown `error`.
 */
export const failJob = (error: unknown): FailedOutput => new FailedPlace(error) as unknown as FailedOutput;
