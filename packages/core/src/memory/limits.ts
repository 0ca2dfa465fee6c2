import type { ClaimCall, MaxAttempts } from "../store/contract/claims.ts";
import type { Throttle } from "../store/contract/limits.ts";
import { runnableFrom } from "../store/rules/checks.ts";
import {
  explainThrottle,
  findReachedLimit,
  findThrottleOfRule,
  limitsClaimableAt,
  ruleClaimableAt,
  type ThrottledJob,
  type ThrottlingGroup,
  type ThrottlingScope,
} from "../store/rules/limits.ts";
import { pauseWithoutEnd } from "../store/rules/pauses.ts";
import { expiredAttempt, reaped } from "../store/rules/transitions.ts";
import type { ScopeState } from "../store/rules/limits.ts";
import { claimFairly, type QueueHead, type TakenJob, type TurnsPort } from "../store/rules/turns.ts";
import { runSync } from "../store/rules/walk.ts";
import { assign, claimableAt, dueIn, hasBegun, hasJobs, inUse, limitsOf } from "./groups.ts";
import { type GroupQueue, type JobRecord, nextDueAt, type Queue, type QueueType } from "./groups.ts";
import { rulesOver, runningIn } from "./groups.ts";
import { recordAttempt } from "./history.ts";
import { type Rows, update } from "./rows.ts";

/** Frees the jobs and slots of expired leases together: the slot goes to the job whose turn it is. */
const requeueExpired = (rows: Rows, { leased }: QueueType, { maxAttempts }: ClaimCall, now: number): void => {
  const expired = [...dueIn(leased, now)].filter(({ row }) => runnableFrom(row, maxAttempts) !== undefined);
  for (const record of expired) {
    recordAttempt(rows, record, expiredAttempt(record.row));
    update(rows, record, reaped(record.row, { error: "", maxAttempts }, now));
  }
};

/** The groups of a type that a claim can take jobs of, by virtual time. Deletes groups whose state is that of a new one. */
const claimableGroups = ({ journal }: Rows, type: QueueType, now: number): GroupQueue[] => {
  const claimable: GroupQueue[] = [];
  for (const group of type.groups.values()) {
    const { stoppedBy, bucketFullAt, virtualTime, isResting: wasResting } = group;
    const isPaused = (group.pausedUntil ?? 0) > now;
    const isThrottled =
      isPaused || stoppedBy !== null || findReachedLimit(limitsOf(group), inUse(group), now) !== null;
    const isBehind = virtualTime <= type.servedVirtualTime;
    group.isResting = isThrottled || nextDueAt(group.pending, now) > now;
    if (!group.isResting && wasResting && isBehind)
      assign(journal, group, { virtualTime: type.servedVirtualTime });
    if (!group.isResting && group.group !== null) claimable.push(group);
    const isAsNew = isBehind && !isPaused && stoppedBy === null && bucketFullAt <= now * 1_000;
    if (isAsNew && !hasJobs(group) && journal.undos === null) type.groups.delete(group.group);
  }
  return claimable.sort((a, b) => a.virtualTime - b.virtualTime || a.key - b.key);
};

type Head = QueueHead<JobRecord>;

/**
 * Deletes idle groups that are at most one job ahead of their type. If each group has one job, none is further ahead, and the
 * served virtual time never passes them.
 */
export const deleteIdleGroups = ({ queues, journal }: Rows, now: number): void => {
  if (journal.undos !== null) return;
  for (const { types } of queues.values())
    for (const { groups, servedVirtualTime } of types.values())
      for (const group of groups.values()) {
        const { stoppedBy, pausedUntil, bucketFullAt, virtualTime } = group;
        const isHeld = stoppedBy !== null || (pausedUntil ?? 0) > now;
        const isAsNew = bucketFullAt <= now * 1_000 && virtualTime <= servedVirtualTime + 1;
        if (isAsNew && !isHeld && !hasJobs(group)) groups.delete(group.group);
      }
};

/** Up to `limit` jobs of a group in the order of claims, from the position `skip` on. */
const headsOf = (group: GroupQueue | undefined, limit: number, skip: number, now: number): Head[] => {
  const heads: Head[] = [];
  for (const record of group === undefined ? [] : dueIn(group.pending, now)) {
    if (heads.length === skip + limit) break;
    const { priority, scheduledAt: dueAt } = record.row;
    heads.push({ job: record, priority, dueAt, order: record.order });
  }
  return heads.slice(skip);
};

const stateOf = (scope: Queue | QueueType): ScopeState => {
  const { servedVirtualTime, ungroupedVirtualTime, isUngroupedClaimable } = scope;
  return { servedVirtualTime, ungroupedVirtualTime, isUngroupedClaimable, ...inUse(scope) };
};

/** Chooses up to `limit` jobs of a queue with rules or groups, and spends their tokens and turns. */
export const chooseFairly = (
  rows: Rows,
  queue: Queue,
  types: readonly QueueType[],
  limit: number,
  call: ClaimCall,
  now: number,
): readonly TakenJob<JobRecord>[] => {
  if (findThrottleOfRule(queue.rule, inUse(queue), now) === "paused") return [];
  for (const type of types) requeueExpired(rows, type, call, now);
  const groups = types.flatMap((type) => claimableGroups(rows, type, now));
  const byKey = new Map(groups.map((group) => [group.key, group]));
  const port: TurnsPort<JobRecord> = {
    claimableGroups: (typeName, after, size) => {
      const ofType = groups.filter(({ type }) => type.typeName === typeName);
      const start = after === undefined ? 0 : ofType.findIndex(({ key }) => key === after.key) + 1;
      return ofType.slice(start, start + size).map((group) => {
        const state = { isOrdered: group.orderedJobs > 0, claimableAt: null, ...inUse(group) };
        return { ...group, ...state, group: group.group! };
      });
    },
    heads: (states, size, skip) => states.map(({ key }) => headsOf(byKey.get(key), size, skip, now)),
    ungrouped: (typeName, size) => headsOf(queue.types.get(typeName)!.groups.get(null), size, 0, now),
  };
  const claim = runSync(
    claimFairly(port, {
      queue: { rule: queue.rule, state: stateOf(queue) },
      types: types.map((type) => ({ ...type, rules: rulesOver(type), state: stateOf(type) })),
      limit,
      now,
    }),
  );
  for (const { key, virtualTime, bucketFullAt, isClaimable } of claim.groups) {
    assign(rows.journal, byKey.get(key)!, { virtualTime, bucketFullAt });
    byKey.get(key)!.isResting = !isClaimable;
  }
  for (const scope of [queue, ...types]) {
    const after = "types" in scope ? claim.queue : claim.types.get(scope.typeName);
    if (after === undefined) continue;
    const { running: _running, ...state } = after;
    assign<Queue | QueueType>(rows.journal, scope, state);
  }
  return claim.taken;
};

/** When the leases of these jobs end, as far as the jobs and their slots come free then. */
const leaseEnds = (records: readonly JobRecord[], maxAttempts: MaxAttempts | undefined): number[] =>
  records
    .filter(({ row }) => runnableFrom(row, maxAttempts) !== undefined)
    .map(claimableAt)
    .sort((a, b) => a - b);

/** The first time at which a claim finds a job of these types of a queue; infinity for none in sight. */
export const nextClaimableAt = (
  queue: Queue | undefined,
  types: readonly QueueType[],
  maxAttempts: MaxAttempts | undefined,
  now: number,
): number => {
  const ofScope = (scope: Queue | QueueType, of: readonly QueueType[]): number =>
    ruleClaimableAt(scope.rule, inUse(scope), () => leaseEnds(of.flatMap(runningIn), maxAttempts), now);
  const ofGroup = (group: GroupQueue): number => {
    const { stoppedBy, pausedUntil } = group;
    if (stoppedBy !== null || pausedUntil === pauseWithoutEnd) return Infinity;
    const ends = leaseEnds(runningIn(group), maxAttempts);
    const dueAt = Math.min(nextDueAt(group.pending, now), ends[0] ?? Infinity);
    const room = limitsClaimableAt(limitsOf(group), inUse(group), () => ends, now);
    return Math.max(dueAt, room, pausedUntil ?? 0);
  };
  const ofQueue = queue === undefined ? Infinity : ofScope(queue, types);
  let next = Infinity;
  for (const type of types) {
    const ofType = Math.max(ofQueue, ofScope(type, [type]));
    for (const group of type.groups.values()) {
      if (next <= Math.max(now, ofType)) break;
      next = Math.min(next, Math.max(ofType, ofGroup(group)));
    }
  }
  return next;
};

/** A pending job that is due, with what may throttle it. */
export const throttledJob = (record: JobRecord, now: number): ThrottledJob => {
  const place = record.place!;
  const { type, group, orderedJobs, stoppedBy, pausedUntil } = place;
  // The next claim requeues a job whose lease has expired.
  const isExpired = ({ row }: JobRecord): boolean => (runnableFrom(row) ?? Infinity) <= now;
  const scopeOf = (scope: Queue | QueueType | GroupQueue): ThrottlingScope => ({
    ...inUse(scope),
    holders: () => runningIn(scope).filter((each) => !isExpired(each)),
  });
  const ahead: ThrottlingGroup["ahead"] = () => {
    const running = runningIn(place).filter(
      // A requeued job has begun: it goes first, unless this job began before.
      (each) => !isExpired(each) || !hasBegun(record.row) || claimableAt(each) < claimableAt(record),
    );
    const pending = [...dueIn(place.pending, now)];
    const jobs = [...running, ...pending.slice(0, pending.indexOf(record))];
    return { jobs, dueAt: jobs[0]?.row.status === "pending" ? jobs[0].row.scheduledAt : null };
  };
  const ofGroup = { ...scopeOf(place), isOrdered: orderedJobs > 0, stoppedBy, pausedUntil, ahead };
  return {
    queue: type.queue.name,
    typeName: type.typeName,
    rules: rulesOver(type),
    ofQueue: scopeOf(type.queue),
    ofType: scopeOf(type),
    ofGroup: group === null ? null : { ...ofGroup, group },
  };
};

/** Why a pending job that is due is not claimed; null if a claim can take it. */
export const findThrottle = (record: JobRecord, now: number): Throttle | null =>
  explainThrottle(throttledJob(record, now), now);
