import { SortedList } from "../base/sorted-list.ts";
import type { StateAttempt } from "../store/contract/history.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { LimitRule, LimitValues } from "../store/contract/limits.ts";
import { limitsOfGroup, type LimitsInUse, type RulesOver } from "../store/rules/limits.ts";
import { newScopeState, type ScopeState } from "../store/rules/limits.ts";
import { type Journal, remember } from "./transactions.ts";

/** The one mutable object of a job. Rows never change, so the store returns them without a copy. */
export interface JobRecord {
  readonly id: string;
  /** Counts up with every job created. Decides between jobs that are scheduled for the same time. */
  readonly order: number;
  row: StateJob;
  blockerIds: readonly string[];
  /** The latest first. */
  attempts: readonly StateAttempt[];
  fingerprint: string | null;
  /** Where the job waits or runs; null in every other status. */
  place: GroupQueue | null;
}

/** What is kept for a queue or a type. The running jobs are counted by their lists. */
type Scope = { -readonly [TName in Exclude<keyof ScopeState, "running">]: ScopeState[TName] };

export interface Queue extends Scope {
  readonly name: string;
  readonly types: Map<string, QueueType>;
  rule: LimitRule | undefined;
  /** Whether the queue or a type in it has a rule. */
  isRuled: boolean;
  /** The number of groups that have jobs. */
  activeGroups: number;
}

export interface QueueType extends Scope {
  readonly queue: Queue;
  readonly typeName: string;
  rule: LimitRule | undefined;
  /** Null is the key of the jobs without a group. */
  readonly groups: Map<string | null, GroupQueue>;
  /** The running jobs, by priority and then by the end of the lease. */
  readonly leased: SortedList<JobRecord>;
}

/** The pending and running jobs of a type that have one group, or none. */
export interface GroupQueue {
  readonly type: QueueType;
  readonly group: string | null;
  /** Decides between groups with the same virtual time. */
  readonly key: number;
  readonly pending: SortedList<JobRecord>;
  readonly leased: Set<JobRecord>;
  /** How many of the jobs are ordered. With one of them, the whole group is ordered. */
  orderedJobs: number;
  virtualTime: number;
  bucketFullAt: number;
  stoppedBy: string | null;
  pausedUntil: number | null;
  /** The last claim could take no job of the group. It gets no credit for that time. */
  isResting: boolean;
}

/** The pending and running jobs by queue, type and group, with the state of the limits over them. */
export interface ClaimQueues {
  readonly journal: Journal;
  readonly queues: Map<string, Queue>;
  /** All running jobs, by the end of their leases. */
  readonly leases: SortedList<JobRecord>;
  groupKeys: number;
}

/** When a pending job is due, or when the lease of a running one ends. */
export const claimableAt = ({ row }: JobRecord): number =>
  row.status === "pending" ? row.scheduledAt : (row.leasedUntil ?? 0);

/** Whether this job of an ordered group was claimed before. Pending, it goes before all that were never claimed. */
export const hasBegun = ({ group, ordered, leaseVersion }: StateJob): boolean =>
  group !== null && ordered !== null && leaseVersion > 0;

export const byTime = (a: JobRecord, b: JobRecord): number =>
  claimableAt(a) - claimableAt(b) || a.order - b.order;

export const byPriority = (a: JobRecord, b: JobRecord): number =>
  b.row.priority - a.row.priority || byTime(a, b);

/** The order in which the jobs of one group run. */
export const byClaimOrder = (a: JobRecord, b: JobRecord): number => {
  const aBegun = hasBegun(a.row);
  if (aBegun !== hasBegun(b.row)) return aBegun ? -1 : 1;
  return aBegun ? byTime(a, b) : byPriority(a, b);
};

/** Whether this pending job goes first in an ordered group, due or not. */
const goesFirst = (row: StateJob): boolean => row.status === "pending" && hasBegun(row);

const nextPriority = (list: SortedList<JobRecord>, { priority }: StateJob): JobRecord | undefined =>
  list.find(({ row }) => row.priority < priority && !goesFirst(row));

/** The jobs of the list that are due or go first, in order. Passes over the others, a priority at a time. */
export function* dueIn(list: SortedList<JobRecord>, now: number): Iterable<JobRecord> {
  let record = list.first();
  while (record !== undefined) {
    const isDue = claimableAt(record) <= now || goesFirst(record.row);
    if (isDue) yield record;
    record = isDue ? list.after(record) : nextPriority(list, record.row);
  }
}

/** When the first job of the list is due: `now` or before if one is; infinity for an empty list. */
export const nextDueAt = (list: SortedList<JobRecord>, now: number): number => {
  let next = Infinity;
  let record = list.first();
  while (record !== undefined && next > now) {
    next = Math.min(next, claimableAt(record));
    record = goesFirst(record.row) ? undefined : nextPriority(list, record.row);
  }
  return next;
};

export const rulesOver = ({ queue, rule }: QueueType): RulesOver => ({ queue: queue.rule, type: rule });

export const limitsOf = ({ type, group, orderedJobs }: GroupQueue): LimitValues =>
  limitsOfGroup(rulesOver(type), { group, ordered: orderedJobs > 0 ? true : null });

export const runningIn = (scope: Queue | QueueType | GroupQueue): JobRecord[] =>
  "types" in scope ? [...scope.types.values()].flatMap(runningIn) : [...scope.leased];

export const inUse = (scope: Queue | QueueType | GroupQueue): LimitsInUse => {
  const counted = "types" in scope ? [...scope.types.values()] : [scope];
  const running = counted.reduce((sum, { leased }) => sum + leased.size, 0);
  return { running, bucketFullAt: scope.bucketFullAt };
};

export const hasJobs = ({ pending, leased }: GroupQueue): boolean => pending.size + leased.size > 0;

export const usesLimits = ({ isRuled, activeGroups }: Queue): boolean => isRuled || activeGroups > 0;

export const typesOf = (queue: Queue | undefined, typeNames: readonly string[] | null): QueueType[] => {
  if (queue === undefined) return [];
  if (typeNames === null) return [...queue.types.values()];
  return [...new Set(typeNames)].flatMap((typeName) => queue.types.get(typeName) ?? []);
};

/** The value of this key; creates it if there is none. */
export const getOrAdd = <TKey, T>(map: Map<TKey, T>, key: TKey, create: () => T): T => {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
};

const newQueue = { ...newScopeState, rule: undefined, isRuled: false, activeGroups: 0 };

export const openQueue = ({ queues }: ClaimQueues, name: string): Queue =>
  getOrAdd(queues, name, () => ({ ...newQueue, name, types: new Map() }));

export const openType = (queues: ClaimQueues, name: string, typeName: string): QueueType => {
  const queue = openQueue(queues, name);
  return getOrAdd(queue.types, typeName, () => {
    const [groups, leased] = [new Map<string | null, GroupQueue>(), new SortedList(byPriority)];
    return { ...newScopeState, queue, typeName, rule: undefined, groups, leased };
  });
};

type GroupName = Pick<StateJob, "queue" | "typeName" | "group">;
const newGroup = {
  orderedJobs: 0,
  virtualTime: 0,
  bucketFullAt: 0,
  stoppedBy: null,
  pausedUntil: null,
  isResting: true,
};

export const openGroup = (queues: ClaimQueues, { queue, typeName, group }: GroupName): GroupQueue => {
  const type = openType(queues, queue, typeName);
  return getOrAdd(type.groups, group, () => {
    queues.groupKeys += 1;
    const pending = new SortedList(group === null ? byPriority : byClaimOrder);
    return { ...newGroup, type, group, key: queues.groupKeys, pending, leased: new Set() };
  });
};

/** Adds a pending or running job. Must be called after every change of its row. */
export const enter = (queues: ClaimQueues, record: JobRecord): void => {
  const { status, ordered, group } = record.row;
  if (status !== "pending" && status !== "running") return;
  const place = openGroup(queues, record.row);
  record.place = place;
  if (group !== null && !hasJobs(place)) place.type.queue.activeGroups += 1;
  if (ordered !== null) place.orderedJobs += 1;
  if (status === "pending") {
    place.pending.add(record);
    return;
  }
  place.leased.add(record);
  place.type.leased.add(record);
  queues.leases.add(record);
};

/** Removes a job. Must be called before every change of its row. */
export const leave = (queues: ClaimQueues, record: JobRecord): void => {
  const { row, place } = record;
  if (place === null) return;
  record.place = null;
  if (row.ordered !== null) place.orderedJobs -= 1;
  if (row.status === "pending") place.pending.delete(record);
  else {
    place.leased.delete(record);
    place.type.leased.delete(record);
    queues.leases.delete(record);
  }
  if (row.group !== null && !hasJobs(place)) place.type.queue.activeGroups -= 1;
};

/** Changes properties of a stored object that no index depends on. */
export const assign = <T extends object>(journal: Journal, target: T, change: Partial<T>): void => {
  const names = Object.keys(change) as (keyof T)[];
  const before = Object.fromEntries(names.map((name) => [name, target[name]])) as Partial<T>;
  remember(journal, () => assign(journal, target, before));
  Object.assign(target, change);
};

/** Resumes a group that a job has stopped: this job, or any. Returns whether it was stopped. */
export const resume = (queues: ClaimQueues, name: GroupName, stoppedBy: string | null): boolean => {
  const place = queues.queues.get(name.queue)?.types.get(name.typeName)?.groups.get(name.group);
  const isStopped = place !== undefined && place.stoppedBy !== null;
  if (!isStopped || (stoppedBy ?? place.stoppedBy) !== place.stoppedBy) return false;
  assign(queues.journal, place, { stoppedBy: null });
  return true;
};

/** A job has failed permanently: stops its group if the job asks for that. */
export const stopGroup = (queues: ClaimQueues, job: StateJob): void => {
  if (job.ordered === "stop" && job.group !== null)
    assign(queues.journal, openGroup(queues, job), { stoppedBy: job.id });
};
