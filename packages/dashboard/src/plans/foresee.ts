import type { Foreseen } from "../answers.ts";
import type { AnyLeasehold } from "../server/services.ts";
import type { Choice, PlannedAction } from "./planned-action.ts";

// A dry run holds its transaction open until it is rolled back, so it has to stay short.
const mostLookedAt = 2_000;
const portionSize = 500;
const mostExamples = 100;

export const foresee = async (
  leasehold: AnyLeasehold,
  { portion }: PlannedAction,
  choice: Choice,
): Promise<Foreseen> => {
  const changed: string[] = [];
  const skipped: { jobId: string; reason: string }[] = [];
  let revived = 0;
  let cursor: string | null = null;
  do {
    const part = await portion(leasehold, { choice, limit: portionSize, cursor, dryRun: true, reason: "" });
    for (const one of part.changed) {
      changed.push(one.jobId);
      revived += one.revived;
    }
    skipped.push(...part.skipped);
    cursor = part.cursor;
  } while (cursor !== null && changed.length + skipped.length < mostLookedAt);
  const reasons: Record<string, number> = {};
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    changed: changed.length,
    revived,
    skipped: skipped.length,
    reasons,
    examples: { changed: changed.slice(0, mostExamples), skipped: skipped.slice(0, mostExamples) },
    isExact: cursor === null,
  };
};
