import type { StateJob } from "leasehold/adapter";
import type { ClaimCursor, ClaimCursors, ClaimRange } from "../database/database.ts";
import { arrayLiteral } from "../database/sql.ts";

// While a transaction holds an old snapshot (pg_dump, a long report), PostgreSQL keeps the index entries of finished jobs. A claim
// that reads from the beginning of the index passes all of them, and each claim takes longer than the one before. A cursor lets
// the next claims begin where the last one ended:
//
//   claim from the beginning ── slow and full ──▶ cursor ──▶ claims behind the cursor, which advance it
//              ▲                                                    │ nothing found, a higher priority, a job put back by this
//              └────────────────────────────────────────────────────┘ process, or a second later
//
// Claims behind the cursor do not see jobs that come before it: those of a transaction that was committed late, deferred jobs
// that fall due, and expired leases. The claim from the beginning that follows within a second does.

/** A claim without dead entries takes one to two milliseconds. */
const slowMs = 3;

const validForMs = 1_000;

/** A very slow claim is repeated less often, so that it takes at most a twentieth of the time. */
const validForDurations = 20;

const mostCursors = 100;

const keyOf = (ranges: readonly ClaimRange[]): string => ranges.map(({ number }) => number).join();

type Place = ReturnType<ClaimCursor["places"]["get"]> & {};

const placeOf = ({ priority, scheduledAt }: StateJob): Place => ({ priority, dueAt: scheduledAt });

const isOf =
  ({ queue, typeName }: ClaimRange) =>
  (job: StateJob): boolean =>
    job.queue === queue && job.typeName === typeName;

/** Moves each range to the last of its jobs. They come in the order in which they run. */
const moveBehind = (
  places: ClaimCursor["places"],
  ranges: readonly ClaimRange[],
  jobs: readonly StateJob[],
): void => {
  for (const range of ranges) {
    const last = jobs.findLast(isOf(range));
    if (last !== undefined) places.set(range.number, placeOf(last));
  }
};

/** Undefined unless jobs of every request were claimed. */
const placesAfter = (
  ranges: readonly ClaimRange[],
  jobs: readonly StateJob[],
): ClaimCursor["places"] | undefined => {
  const lastOfRequest = (request: number): StateJob | undefined => {
    const ofRequest = ranges.filter((range) => range.request === request).map(isOf);
    return jobs.findLast((job) => ofRequest.some((isOfRange) => isOfRange(job)));
  };
  const places: ClaimCursor["places"] = new Map();
  // Jobs of a request are claimed in order. So a range of which nothing was claimed has no job before the last of them.
  for (const request of new Set(ranges.map((range) => range.request))) {
    const last = lastOfRequest(request);
    if (last === undefined) return undefined;
    for (const range of ranges) if (range.request === request) places.set(range.number, placeOf(last));
  }
  moveBehind(places, ranges, jobs);
  return places;
};

export const createClaimCursors = (clock: () => number = () => performance.now()): ClaimCursors => {
  const cursors = new Map<string, ClaimCursor>();
  return {
    find: (ranges) => {
      if (cursors.size === 0) return undefined;
      const key = keyOf(ranges);
      const cursor = cursors.get(key);
      if (cursor === undefined || clock() < cursor.expiresAt) return cursor;
      cursors.delete(key);
      return undefined;
    },
    begin: (ranges, jobs, tookMs) => {
      if (tookMs < slowMs) return;
      const places = placesAfter(ranges, jobs);
      if (places === undefined) return;
      const since = jobs[0]!.lastAttemptAt!;
      if (cursors.size >= mostCursors) cursors.clear();
      const expiresAt = clock() + Math.max(validForMs, tookMs * validForDurations);
      cursors.set(keyOf(ranges), { since, places, expiresAt });
    },
    advance: ({ places }, ranges, jobs) => {
      if (jobs.length === 0) cursors.delete(keyOf(ranges));
      else moveBehind(places, ranges, jobs);
    },
    forgetAll: () => cursors.clear(),
  };
};

/** The priorities and due times of the cursor, parallel to the queues and types. */
export const cursorParams = (
  { places }: ClaimCursor,
  ranges: readonly ClaimRange[],
): readonly [string, string] => {
  const ofEach = ranges.map(({ number }) => places.get(number)!);
  return [
    arrayLiteral(ofEach.map(({ priority }) => priority)),
    arrayLiteral(ofEach.map(({ dueAt }) => dueAt)),
  ];
};
