import type { GroupUse, LimitScope, LimitUse, RateLimit } from "../store/contract/limits.ts";
import { changedLimitRule, compareScopes, emptyLimitRule, keepSpent } from "../store/rules/limits.ts";
import { describePause, endOfPause, ruleAt } from "../store/rules/pauses.ts";
import { byBytes, groupsToRead, readUpTo, selectGroups } from "../store/rules/group-pages.ts";
import { limitsOfGroup, type RulesOver, tokensLeft } from "../store/rules/limits.ts";
import { assign, claimableAt, dueIn, type GroupQueue, hasJobs, inUse, type JobRecord } from "./groups.ts";
import {
  limitsOf,
  openGroup,
  openQueue,
  openType,
  type Queue,
  type QueueType,
  resume,
  rulesOver,
} from "./groups.ts";
import { runningIn, typesOf, usesLimits } from "./groups.ts";
import { findThrottle } from "./limits.ts";
import { type Operation, type Rows, update } from "./rows.ts";

type Rate = RateLimit | null;

const bucketAfter = (before: Rate, after: Rate, bucketFullAt: number, now: number): number =>
  after === null || before === null ? 0 : keepSpent(after, bucketFullAt, now);

/** Edits the buckets of the groups whose rate changes. */
const editGroupBuckets = (rows: Rows, type: QueueType, change: Partial<RulesOver>, now: number): void => {
  const rules = rulesOver(type);
  for (const group of type.groups.values()) {
    const [before, after] = [rules, { ...rules, ...change }].map(
      (over) => limitsOfGroup(over, { group: group.group, ordered: null }).rate,
    );
    if (before !== after)
      assign(rows.journal, group, { bucketFullAt: bucketAfter(before!, after!, group.bucketFullAt, now) });
  }
};

/** Marks the running jobs that a limit counts now. */
const markLimited = (rows: Rows, queue: Queue): void => {
  for (const record of runningIn(queue)) {
    const place = record.place!;
    const limits = [queue.rule, place.type.rule, limitsOf(place)];
    const limited = limits.some((each) => (each?.concurrency ?? null) !== null);
    if (limited !== record.row.limited) update(rows, record, { ...record.row, limited });
  }
};

export const setRule: Operation<"setRule"> = (rows, call, now) => {
  const { queue: name, typeName, change, expectedVersion } = call;
  const queue = openQueue(rows, name);
  const scope = typeName === null ? queue : openType(rows, name, typeName);
  const before = ruleAt(scope.rule ?? emptyLimitRule(name, typeName), now);
  if (expectedVersion !== undefined && expectedVersion !== before.version)
    return { kind: "version_mismatch", rule: before };
  const rule = changedLimitRule(before, change, now);
  if (rule === before) return { kind: "unchanged", rule };
  for (const type of "types" in scope ? scope.types.values() : [scope])
    editGroupBuckets(rows, type, typeName === null ? { queue: rule } : { type: rule }, now);
  const isSameRate = rule.rate === before.rate;
  const edited = isSameRate
    ? scope.bucketFullAt
    : bucketAfter(before.rate, rule.rate, scope.bucketFullAt, now);
  assign(rows.journal, queue, { isRuled: true });
  assign<Queue | QueueType>(rows.journal, scope, { rule, bucketFullAt: edited });
  markLimited(rows, queue);
  return { kind: "set", rule };
};

export const pauseGroup: Operation<"pauseGroup"> = (rows, { until, ...group }, now) => {
  assign(rows.journal, openGroup(rows, group), { pausedUntil: endOfPause(until, now) });
};

export const resumeGroup: Operation<"resumeGroup"> = (rows, { queue, typeName, group }, now) => {
  const wasStopped = resume(rows, { queue, typeName, group }, null);
  const place = rows.queues.get(queue)?.types.get(typeName)?.groups.get(group);
  if (place === undefined || place.pausedUntil === null) return wasStopped;
  const wasPaused = place.pausedUntil > now;
  assign(rows.journal, place, { pausedUntil: null });
  return wasStopped || wasPaused;
};

/** The first pending job of a group that is due. */
const firstWaiting = ({ pending }: GroupQueue, now: number): JobRecord | undefined =>
  [...dueIn(pending, now)].find((record) => claimableAt(record) <= now);

const useOf = ({ queues }: Rows, { queue, typeName }: LimitScope, now: number): LimitUse => {
  const scope = typeName === null ? queues.get(queue)! : queues.get(queue)!.types.get(typeName)!;
  const rule = ruleAt(scope.rule ?? emptyLimitRule(queue, typeName), now);
  const waiting = typesOf(queues.get(queue), typeName === null ? null : [typeName])
    .flatMap(({ groups }) => [...groups.values()])
    .flatMap((group) => firstWaiting(group, now) ?? []);
  const throttled = waiting.filter((record) => findThrottle(record, now) !== null).length;
  return {
    rule,
    running: inUse(scope).running,
    tokens: rule.rate === null ? null : tokensLeft(rule.rate, scope.bucketFullAt, now),
    claimableGroups: Math.min(waiting.length - throttled, 10_000),
    throttledGroups: Math.min(throttled, 10_000),
  };
};

export const listRules: Operation<"listRules"> = (rows, { queue: wanted }, now) => {
  const scopes: LimitScope[] = [];
  for (const { name: queue, types, rule } of rows.queues.values()) {
    if (wanted !== null && wanted !== queue) continue;
    if (rule !== undefined) scopes.push({ queue, typeName: null });
    for (const { typeName, groups, rule: own } of types.values()) {
      const hasGroups = [...groups.values()].some((each) => each.group !== null && hasJobs(each));
      if (own !== undefined || hasGroups) scopes.push({ queue, typeName });
    }
  }
  return scopes.sort(compareScopes).map((scope) => useOf(rows, scope, now));
};

const groupUse = (place: GroupQueue, now: number): GroupUse => {
  const due = [...place.pending].map(claimableAt).filter((at) => at <= now);
  const first = firstWaiting(place, now);
  return {
    group: place.group!,
    running: place.leased.size,
    waiting: Math.min(due.length, 1_000),
    waitingSince: due.length === 0 ? null : due.reduce((a, b) => Math.min(a, b)),
    throttledBy: first === undefined ? null : (findThrottle(first, now)?.by ?? null),
    stoppedBy: place.stoppedBy,
    ...describePause(place.pausedUntil, now),
  };
};

export const listGroups: Operation<"listGroups"> = ({ queues }, call, now) => {
  const { order, limit, after } = call;
  const groups = typesOf(queues.get(call.queue), [call.typeName])
    .flatMap((type) => [...type.groups.values()])
    .filter(({ group }) => group !== null);
  if (order !== "name")
    return selectGroups(
      groups.map((group) => groupUse(group, now)),
      call,
      null,
    );
  const read = groups
    .filter(({ group }) => byBytes(group!, after ?? "") > 0)
    .sort((a, b) => byBytes(a.group!, b.group!))
    .slice(0, groupsToRead(limit));
  const uses = read.map((group) => groupUse(group, now));
  return selectGroups(
    uses,
    call,
    readUpTo(
      uses.map(({ group }) => group),
      limit,
    ),
  );
};

export const explainThrottle: Operation<"explainThrottle"> = ({ jobs, queues }, { jobId }, now) => {
  const record = jobs.get(jobId);
  if (record?.row.status !== "pending" || record.row.scheduledAt > now) return null;
  return usesLimits(queues.get(record.row.queue)!) ? findThrottle(record, now) : null;
};

// There are no counters that could differ: the lists of running jobs are counted.
export const repairCounters: Operation<"repairCounters"> = () => ({ counters: [] });
