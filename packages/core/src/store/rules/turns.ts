import type { LimitRule, LimitValues } from "../contract/limits.ts";
import {
  countedIn,
  findReachedLimit,
  findThrottleOfRule,
  type GroupState,
  limitsOfGroup,
  nextTokenAt,
  type RulesOver,
  type ScopeState,
  spendTokens,
  tokensLeft,
  weightOfGroup,
} from "./limits.ts";
import { pauseWithoutEnd } from "./pauses.ts";
import { answer, type Awaitable, type Walk } from "./walk.ts";

/*
 * Which jobs a claim takes in a queue with rules or groups. The groups of a type take turns, by start-time fair queueing; the
 * jobs without a group count as one group. Between the types of the queue decides the order of claims: the next job of each
 * type is that of the group in turn, and the first of these by priority, time and creation is taken.
 *
 * Groups have a virtual time. The lowest is served next; serving a job adds 1 / weight to it. A group that becomes claimable
 * again continues from the virtual time that was served last, if its own is lower: it gets no credit for the time in which it
 * had no jobs or was throttled.
 *
 * `claimFairly` decides and writes nothing. The store makes the taken jobs run and then stores the returned states.
 */

/** The state of a group after a claim. */
export interface ClaimedGroup extends GroupState {
  /** False: claims pass over the group until one of its jobs changes, or until `claimableAt`. */
  readonly isClaimable: boolean;
  /** Not claimable because no job is due. */
  readonly isDrained: boolean;
}

/** A pending job that is due, or has begun in an ordered group. */
export interface QueueHead<TJob> {
  readonly job: TJob;
  readonly priority: number;
  readonly dueAt: number;
  /** Counts up with every job created. */
  readonly order: number;
}

const isBefore = <TJob>(a: QueueHead<TJob>, b: QueueHead<TJob>): boolean =>
  (b.priority - a.priority || a.dueAt - b.dueAt || a.order - b.order) < 0;

/** What a store offers to the rules for fair turns. */
export interface TurnsPort<TJob> {
  /** The claimable groups of a type by virtual time, then key: up to `limit` of those after this one. */
  claimableGroups(
    typeName: string,
    after: GroupState | undefined,
    limit: number,
  ): Awaitable<readonly GroupState[]>;
  /** For each group its first jobs in the order of claims, from `skip` on, up to `limit`. */
  heads(
    groups: readonly GroupState[],
    limit: number,
    skip: number,
  ): Awaitable<readonly (readonly QueueHead<TJob>[])[]>;
  /** The first jobs of a type that have no group and are due, in the order of claims. */
  ungrouped(typeName: string, limit: number): Awaitable<readonly QueueHead<TJob>[]>;
}

/** A job that was taken, with its group. */
export interface TakenJob<TJob> {
  readonly job: TJob;
  /** Undefined for a job without a group. */
  readonly group: GroupState | undefined;
  readonly countedIn: number;
}

export interface FairClaimCall {
  readonly queue: { readonly rule: LimitRule | undefined; readonly state: ScopeState };
  readonly types: readonly {
    readonly typeName: string;
    readonly rules: RulesOver;
    readonly state: ScopeState;
  }[];
  readonly limit: number;
  readonly now: number;
}

/** The jobs that were taken in fair turns, and the states that this changed. */
export interface FairClaim<TJob> {
  readonly taken: readonly TakenJob<TJob>[];
  /** The states that have changed. */
  readonly queue: ScopeState | undefined;
  readonly types: ReadonlyMap<string, ScopeState>;
  readonly groups: readonly ClaimedGroup[];
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Visited<TJob> extends Mutable<ClaimedGroup> {
  readonly limits: LimitValues;
  readonly weight: number;
  /** The virtual time at which its portion began. */
  startedAt: number;
  heads: readonly QueueHead<TJob>[];
  hasMore: boolean;
  /** How many of `heads` were taken, and how many jobs in all. */
  next: number;
  taken: number;
}

// A claim takes several jobs of a group in a row, so that a store writes fewer groups: a sixteenth of the claim, or an
// equal share where there are fewer groups.
const mostPortions = 16;

const smallestPage = 8;

const largestPage = 500;

const earlier = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);

const spendToken = ({ rate }: LimitValues, bucketFullAt: number, now: number): number =>
  rate === null ? bucketFullAt : spendTokens(rate, bucketFullAt, now, 1);

/** The claimable groups of a type during one claim. */
interface Groups<TJob> {
  readonly visited: readonly Visited<TJob>[];
  /** Whether groups that are not loaded may precede loaded ones. */
  needsLoading(): boolean;
  load(): Walk<void>;
  /** The next group among the loaded ones. */
  first(): Visited<TJob> | undefined;
  /** Takes the first job of that group. If it was the last one read, `readMore` must follow. */
  take(): TJob;
  needsMore(): boolean;
  readMore(): Walk<void>;
  isExhausted(): boolean;
}

const visitGroups = <TJob>(
  port: TurnsPort<TJob>,
  typeName: string,
  rules: RulesOver,
  limit: number,
  now: number,
): Groups<TJob> => {
  const visited: Visited<TJob>[] = [];
  // Those with jobs, from the last turn to the first.
  let waiting: Visited<TJob>[] = [];
  // The group whose jobs were all taken, while it may have more.
  let read: Visited<TJob> | undefined;
  let last: GroupState | undefined;
  let isAllLoaded = false;
  let left = limit;
  let portion = Math.ceil(limit / mostPortions);
  const mostOfGroup = Math.min(
    portion,
    limitsOfGroup(rules, { group: "any", ordered: null }).concurrency ?? portion,
  );

  const byTurn = (a: Visited<TJob>, b: Visited<TJob>): number => a.startedAt - b.startedAt || a.key - b.key;

  const room = ({ limits, running, bucketFullAt }: Visited<TJob>): number =>
    Math.min(
      limits.concurrency === null ? left : limits.concurrency - running,
      limits.rate === null ? left : tokensLeft(limits.rate, bucketFullAt, now),
      left,
    );

  const close = (group: Visited<TJob>, claimableAt: number | null, isDrained = false): void => {
    group.isClaimable = false;
    group.isDrained = isDrained;
    group.claimableAt = earlier(group.claimableAt, claimableAt);
  };

  const closeIfThrottled = (group: Visited<TJob>): boolean => {
    const { limits, bucketFullAt, stoppedBy, pausedUntil } = group;
    if (stoppedBy === null && pausedUntil !== null && pausedUntil > now) {
      close(group, pausedUntil === pauseWithoutEnd ? null : pausedUntil);
      return true;
    }
    const reached = stoppedBy === null ? findReachedLimit(limits, group, now) : "stopped";
    if (reached === null) return false;
    close(group, reached === "rate" ? nextTokenAt(limits.rate!, bucketFullAt, now) : null);
    return true;
  };

  /** Reads the next jobs of these groups, and closes groups in which none is due. */
  function* readHeads(groups: readonly Visited<TJob>[], skip: number): Walk<void> {
    const most = groups.reduce((sum, each) => Math.max(sum, Math.min(room(each), portion + 1)), 0);
    const found = yield* answer(port.heads(groups, most, skip));
    for (const [index, each] of groups.entries()) {
      each.heads = found[index]!;
      each.next = 0;
      each.hasMore = each.heads.length === most;
      const [head] = each.heads;
      if (head === undefined) close(each, null, true);
      else if (head.dueAt > now) close(each, head.dueAt);
    }
  }

  /** Keeps the turn of a group until its portion is taken. */
  const putBack = (group: Visited<TJob>): void => {
    if (group.taken % portion > 0) {
      waiting.push(group);
      return;
    }
    group.startedAt = group.virtualTime;
    let [low, high] = [0, waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byTurn(waiting[middle]!, group) > 0) low = middle + 1;
      else high = middle;
    }
    waiting.splice(low, 0, group);
  };

  // Written out: V8 makes slow objects of a spread with this many properties.
  const visit = (state: GroupState): Visited<TJob> => ({
    key: state.key,
    group: state.group,
    isOrdered: state.isOrdered,
    running: state.running,
    bucketFullAt: state.bucketFullAt,
    virtualTime: state.virtualTime,
    claimableAt: state.claimableAt,
    stoppedBy: state.stoppedBy,
    pausedUntil: state.pausedUntil,
    limits: limitsOfGroup(rules, { group: state.group, ordered: state.isOrdered ? true : null }),
    weight: weightOfGroup(rules, state.group),
    isClaimable: true,
    isDrained: false,
    startedAt: state.virtualTime,
    heads: [],
    hasMore: false,
    next: 0,
    taken: 0,
  });

  return {
    visited,
    needsLoading: () => {
      if (isAllLoaded) return false;
      const first = waiting.at(-1);
      return first === undefined || last === undefined || first.startedAt > last.virtualTime;
    },
    *load() {
      const size = Math.min(Math.max(Math.ceil(left / mostOfGroup), smallestPage), largestPage);
      const page = yield* answer(port.claimableGroups(typeName, last, size));
      last = page.at(-1) ?? last;
      isAllLoaded = page.length < size;
      const found = page.map(visit);
      visited.push(...found);
      const claimable = found.filter((each) => !closeIfThrottled(each));
      const count = waiting.length + claimable.length;
      if (count < mostPortions) portion = Math.max(portion, Math.ceil(left / (count || 1)));
      if (claimable.length > 0) yield* readHeads(claimable, 0);
      waiting = [...waiting, ...claimable.filter(({ isClaimable }) => isClaimable)].sort((a, b) =>
        byTurn(b, a),
      );
    },
    first: () => waiting.at(-1),
    take: () => {
      const group = waiting.pop()!;
      const { job } = group.heads[group.next]!;
      const { limits } = group;
      group.next += 1;
      group.taken += 1;
      left -= 1;
      group.virtualTime += 1 / group.weight;
      group.bucketFullAt = spendToken(limits, group.bucketFullAt, now);
      if (limits.concurrency !== null) group.running += 1;
      if (closeIfThrottled(group)) return job;
      if (group.next < group.heads.length) putBack(group);
      else if (!group.hasMore) close(group, null, true);
      else if (left > 0) read = group;
      else putBack(group);
      return job;
    },
    needsMore: () => read !== undefined,
    *readMore() {
      const group = read!;
      read = undefined;
      yield* readHeads([group], group.taken);
      if (group.isClaimable) putBack(group);
    },
    isExhausted: () => isAllLoaded && waiting.length === 0,
  };
};

interface TypeInTurn<TJob> {
  readonly typeName: string;
  readonly rules: RulesOver;
  readonly before: ScopeState;
  readonly state: Mutable<ScopeState>;
  readonly groups: Groups<TJob>;
  /** Due jobs without a group, from the last to the first. Undefined until they are read. */
  ungrouped: QueueHead<TJob>[] | undefined;
  mayHaveMore: boolean;
  isServed: boolean;
}

/** Spends what one job costs a queue or type. Returns whether its limit counts the job. */
const spend = (rule: LimitRule | undefined, state: Mutable<ScopeState>, now: number): boolean => {
  if (rule === undefined) return false;
  state.bucketFullAt = spendToken(rule, state.bucketFullAt, now);
  if (rule.concurrency === null) return false;
  state.running += 1;
  return true;
};

/**
 * When a type has no claimable group left, all its groups continue from the highest virtual time. Otherwise the served
 * virtual time would stand still while groups come and go one by one, and idle groups could never be deleted.
 */
const endRound = <TJob>({ state, groups, ungrouped }: TypeInTurn<TJob>): void => {
  if (ungrouped === undefined || state.isUngroupedClaimable || !groups.isExhausted()) return;
  let highest = Math.max(state.servedVirtualTime, state.ungroupedVirtualTime);
  for (const { virtualTime } of groups.visited) highest = Math.max(highest, virtualTime);
  state.servedVirtualTime = highest;
};

/** Chooses up to `limit` jobs that no rule throttles. */
export function* claimFairly<TJob>(
  port: TurnsPort<TJob>,
  { queue, types: given, limit, now }: FairClaimCall,
): Walk<FairClaim<TJob>> {
  const ofQueue: Mutable<ScopeState> = { ...queue.state };
  const types = given.map(({ typeName, rules, state }): TypeInTurn<TJob> => ({
    typeName,
    rules,
    before: state,
    state: { ...state },
    groups: visitGroups(port, typeName, rules, limit, now),
    ungrouped: undefined,
    mayHaveMore: false,
    isServed: false,
  }));
  const taken: TakenJob<TJob>[] = [];

  const isThrottled = (rule: LimitRule | undefined, state: ScopeState): boolean =>
    findThrottleOfRule(rule, state, now) !== null;

  function* read(type: TypeInTurn<TJob>): Walk<void> {
    const { typeName, state, groups } = type;
    if (type.ungrouped === undefined) {
      const wanted = limit - taken.length;
      const found = yield* answer(port.ungrouped(typeName, wanted));
      if (!state.isUngroupedClaimable)
        state.ungroupedVirtualTime = Math.max(state.ungroupedVirtualTime, state.servedVirtualTime);
      state.isUngroupedClaimable = found.length > 0;
      type.mayHaveMore = found.length === wanted;
      type.ungrouped = found.toReversed();
    }
    while (groups.needsLoading()) yield* groups.load();
  }

  /** The next job of a type, and its group: undefined for jobs without one. */
  const nextOf = ({
    groups,
    ungrouped,
    state,
  }: TypeInTurn<TJob>): { head: QueueHead<TJob>; group: Visited<TJob> | undefined } | undefined => {
    const group = groups.first();
    const head = ungrouped!.at(-1);
    if (group !== undefined && (head === undefined || group.startedAt < state.ungroupedVirtualTime))
      return { head: group.heads[group.next]!, group };
    return head && { head, group: undefined };
  };

  const serve = (type: TypeInTurn<TJob>, group: Visited<TJob> | undefined): void => {
    const { state, rules, groups } = type;
    const groupTime = group === undefined ? state.ungroupedVirtualTime : group.virtualTime;
    const job = group === undefined ? type.ungrouped!.pop()!.job : groups.take();
    if (group === undefined) {
      state.ungroupedVirtualTime = groupTime + 1;
      state.isUngroupedClaimable = type.ungrouped!.length > 0 || type.mayHaveMore;
    }
    type.isServed = true;
    state.servedVirtualTime = Math.max(state.servedVirtualTime, groupTime);
    const counted =
      ((group?.limits.concurrency ?? null) === null ? 0 : countedIn.group) |
      (spend(rules.type, state, now) ? countedIn.type : 0) |
      (spend(queue.rule, ofQueue, now) ? countedIn.queue : 0);
    taken.push({ job, group, countedIn: counted });
  };

  while (taken.length < limit && !isThrottled(queue.rule, ofQueue)) {
    let first: TypeInTurn<TJob> | undefined;
    let next: ReturnType<typeof nextOf>;
    for (const type of types) {
      if (isThrottled(type.rules.type, type.state)) continue;
      if (type.ungrouped === undefined || type.groups.needsLoading()) yield* read(type);
      const found = nextOf(type);
      if (found !== undefined && (next === undefined || isBefore(found.head, next.head)))
        [first, next] = [type, found];
    }
    if (first === undefined) break;
    serve(first, next?.group);
    if (first.groups.needsMore()) yield* first.groups.readMore();
  }

  for (const type of types) endRound(type);
  const changed = types.filter(
    ({ before, state, isServed }) => isServed || before.servedVirtualTime !== state.servedVirtualTime,
  );
  return {
    taken,
    queue: taken.length === 0 ? undefined : ofQueue,
    types: new Map(changed.map(({ typeName, state }) => [typeName, state])),
    groups: types.flatMap(({ groups }) =>
      groups.visited.filter((each) => !each.isClaimable || each.taken > 0),
    ),
  };
}
