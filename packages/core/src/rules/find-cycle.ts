import { answer, type Awaitable, type Walk } from "./walk.ts";

export interface WaitingSequence {
  readonly sequenceId: string;
  /** The one of the sequences asked about that it waits for. */
  readonly waitsFor: string;
}

/** The sequences whose current job is blocked by one of these. */
export type FindWaiting = (sequenceIds: readonly string[]) => Awaitable<readonly WaitingSequence[]>;

/**
 * Walks from a sequence up through all that wait for it. If one of the blockers is met, waiting for them would close a
 * cycle: returns the way from that blocker to the sequence. This direction because usually nobody waits yet for the
 * sequence of a new job.
 */
export function* findCycle(
  sequenceId: string,
  blockerIds: readonly string[],
  findWaiting: FindWaiting,
): Walk<string[] | undefined> {
  const blockers = new Set(blockerIds);
  if (blockers.has(sequenceId)) return [sequenceId];
  const waitsFor = new Map<string, string | null>([[sequenceId, null]]);
  let level = [sequenceId];
  while (level.length > 0) {
    const found: string[] = [];
    for (const waiting of yield* answer(findWaiting(level))) {
      if (waitsFor.has(waiting.sequenceId)) continue;
      waitsFor.set(waiting.sequenceId, waiting.waitsFor);
      if (blockers.has(waiting.sequenceId)) return wayFrom(waiting.sequenceId, waitsFor);
      found.push(waiting.sequenceId);
    }
    level = found;
  }
  return undefined;
}

const wayFrom = (start: string, waitsFor: ReadonlyMap<string, string | null>): string[] => {
  const way: string[] = [];
  for (let step: string | null = start; step !== null; step = waitsFor.get(step) ?? null) way.push(step);
  return way;
};
