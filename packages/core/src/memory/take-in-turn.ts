import type { ClaimScope } from "../store/contract/claims.ts";
import type { LimitValues } from "../store/contract/limits.ts";
import { findThrottleOfRule } from "../store/rules/limits.ts";
import { type RulesOver, weightOfGroup } from "../store/rules/limits.ts";
import { spendTokens } from "../store/rules/limits.ts";
import { expiredAttempt } from "../store/rules/transitions.ts";
import { reaped } from "../store/rules/transitions.ts";
import type { FlowCell } from "./flow-cells.ts";
import { recordAttempt } from "./job-history.ts";
import type { JobRecord, QueueType } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { firstOf, type Line } from "./line.ts";
import { limitsOf, lineOpensAt } from "./line-limits.ts";
import { expiredHead, type Search } from "./runnable.ts";

// Claims in a queue with groups or rules. Turns are start-time fair queueing, twice: the types of the queue take turns, and
// within a type its lines do. Who is served moves on by one turn, or by less with more weight; who opens goes on from the
// turn that was served last.

interface TypeInTurn {
  readonly queueType: QueueType;
  readonly cell: FlowCell;
  readonly over: RulesOver;
}

interface NextJob extends TypeInTurn {
  readonly line: Line;
  readonly typeTurn: number;
  readonly lineTurn: number;
}

/** Frees the jobs and slots of expired leases together, so that whoever goes first by the rules gets the slot. */
const putBackExpired = (store: JobStore, queueType: QueueType, search: Search): void => {
  const { maxAttempts, now } = search;
  for (;;) {
    const record = expiredHead(queueType, search)?.record;
    if (record === undefined) return;
    recordAttempt(store, record, expiredAttempt(record.row));
    store.update(record, reaped(record.row, { error: "", maxAttempts }, now));
  }
};

/** The line of a type whose turn it is. */
const nextLine = (
  { flow, runnable }: JobStore,
  { queueType, cell, over }: TypeInTurn,
  now: number,
): Pick<NextJob, "line" | "lineTurn"> | undefined => {
  const claimableAt = (line: Line): number => lineOpensAt(line, over, flow.line(cell, line.group), now);
  const turn = (line: Line): number => runnable.turnOf(queueType, line);
  const grouped = queueType.claimableGroups.first(now, claimableAt, turn);
  const { ungrouped } = queueType;
  if (claimableAt(ungrouped) > now) return grouped && { line: grouped.line, lineTurn: grouped.turn };
  const lineTurn = turn(ungrouped);
  return grouped !== undefined && grouped.turn < lineTurn
    ? { line: grouped.line, lineTurn: grouped.turn }
    : { line: ungrouped, lineTurn };
};

const nextJob = (
  store: JobStore,
  types: readonly TypeInTurn[],
  queueCell: FlowCell,
  now: number,
): NextJob | undefined => {
  let next: NextJob | undefined;
  for (const type of types) {
    const { state } = type.cell;
    const typeTurn = Math.max(state.turn, queueCell.state.served);
    if (next !== undefined && next.typeTurn <= typeTurn) continue;
    const use = { running: type.queueType.counts.running, bucketFullAt: state.bucketFullAt };
    if (findThrottleOfRule(state.rule, use, now) !== null) continue;
    const found = nextLine(store, type, now);
    if (found !== undefined) next = { ...type, ...found, typeTurn };
  }
  return next;
};

const spendOne = (limits: LimitValues | undefined, bucketFullAt: number, now: number): number =>
  limits === undefined || limits.rate === null
    ? bucketFullAt
    : spendTokens(limits.rate, bucketFullAt, now, 1);

/** Spends the tokens and moves the turns on for the first job of the line. Says whether a limit counts it. */
const serve = ({ flow }: JobStore, next: NextJob, queueCell: FlowCell, now: number): boolean => {
  const { queueType, cell, over, line, typeTurn, lineTurn } = next;
  const limits = limitsOf(over, line);
  const { bucketFullAt } = flow.line(cell, line.group);
  flow.setState(queueCell, {
    served: typeTurn,
    bucketFullAt: spendOne(over.queue, queueCell.state.bucketFullAt, now),
  });
  flow.setState(cell, {
    turn: typeTurn + 1,
    served: lineTurn,
    bucketFullAt: spendOne(over.type, cell.state.bucketFullAt, now),
  });
  flow.setLine(cell, line.group, {
    turn: lineTurn + 1 / weightOfGroup(over, line.group),
    bucketFullAt: spendOne(limits, bucketFullAt, now),
  });
  queueType.claimableGroups.close(line);
  return [over.queue, over.type, limits].some((each) => (each?.concurrency ?? null) !== null);
};

/**
 * When no line of a type is open any more, a new round begins for all of them from the last turn that was given. Without
 * this, lines that come and go one by one would never move the turns on, and none could ever be forgotten.
 */
const endRound = (store: JobStore, type: TypeInTurn, lastTurn: number, now: number): void => {
  const { queueType, cell } = type;
  if (cell.state.served < lastTurn && nextLine(store, type, now) === undefined)
    store.flow.setState(cell, { served: lastTurn });
  store.flow.sweep(cell, now, (group) => queueType.groups.has(group));
};

/** Gives `use` up to `limit` jobs that no rule holds back, and says whether a limit counts them. It must make them run. */
export const claimFairly = (
  store: JobStore,
  { queue, typeNames }: ClaimScope,
  limit: number,
  search: Search,
  use: (record: JobRecord, limited: boolean) => void,
): void => {
  const { flow, runnable } = store;
  const { now } = search;
  const index = runnable.queue(queue);
  const queueCell = flow.open(queue, null);
  if (limit <= 0 || index === undefined || queueCell.state.rule?.paused === true) return;
  const types = runnable.queueTypes(queue, typeNames).map((queueType): TypeInTurn => {
    putBackExpired(store, queueType, search);
    const { typeName } = queueType;
    return { queueType, cell: flow.open(queue, typeName), over: flow.rulesOver(queue, typeName) };
  });
  const lastTurns = new Map<QueueType, number>();
  for (let taken = 0; taken < limit; taken += 1) {
    const { rule, bucketFullAt } = queueCell.state;
    if (findThrottleOfRule(rule, { running: index.running, bucketFullAt }, now) !== null) break;
    const next = nextJob(store, types, queueCell, now);
    if (next === undefined) break;
    const { queueType, cell, line } = next;
    const { record } = firstOf(line, now)!;
    use(record, serve(store, next, queueCell, now));
    const { turn } = flow.line(cell, line.group);
    lastTurns.set(queueType, Math.max(lastTurns.get(queueType) ?? 0, turn));
  }
  for (const type of types) {
    const lastTurn = lastTurns.get(type.queueType);
    if (lastTurn !== undefined) endRound(store, type, lastTurn, now);
  }
};
