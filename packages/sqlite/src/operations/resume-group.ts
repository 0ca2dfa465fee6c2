import type { Lines } from "../flow/lines.ts";
import type { Operation } from "../operation.ts";

export const prepareResumeGroup =
  (lines: Lines): Operation<"resumeGroup"> =>
  (db, group) =>
    lines.resume(db, group, null);
