import { type LimitValues, limitsOfGroup, type RulesOver } from "leasehold/adapter";
import { type Columns, defineRow, type Row } from "../database/sql.ts";

/** What is kept for a queue or a type beside its rule. */
export interface LaneState {
  readonly number: number;
  readonly running: number;
  readonly tat: number;
  /** Of a type: its turn among the types of the queue. */
  readonly turn: number;
  /** The turn that was served last: of a queue among its types, of a type among its lines. */
  readonly served: number;
  /** Of a type: the turn of its jobs that are in no line, and whether the last claim has left some of them. */
  readonly ungroupedTurn: number;
  readonly isUngroupedOpen: boolean;
}

export const emptyLane: LaneState = {
  number: 0,
  running: 0,
  tat: 0,
  turn: 0,
  served: 0,
  ungroupedTurn: 0,
  isUngroupedOpen: false,
};

export const laneStateRow: Row<LaneState> = defineRow((columns): LaneState => ({
  number: columns.value("number"),
  running: columns.value("running"),
  tat: columns.value("tat"),
  turn: columns.value("turn"),
  served: columns.value("served"),
  ungroupedTurn: columns.value("ungrouped_turn"),
  isUngroupedOpen: columns.holds("ungrouped_open"),
}));

export interface LineState {
  readonly number: number;
  /** Empty for a line of jobs without a group. */
  readonly group: string;
  readonly isOrdered: boolean;
  /** Those that are counted, because the line has a limit. */
  readonly running: number;
  readonly tat: number;
  readonly turn: number;
  readonly wakeAt: number | null;
  readonly stoppedBy: string | null;
}

export const describeLine = (columns: Columns): LineState => ({
  number: columns.value("number"),
  group: columns.value("group_key"),
  isOrdered: columns.holds("ordered"),
  running: columns.value("running"),
  tat: columns.value("tat"),
  turn: columns.value("turn"),
  wakeAt: columns.value("wake_at", null),
  stoppedBy: columns.value("stopped_by", null),
});

export const lineRow: Row<LineState> = defineRow(describeLine);

export const limitsOf = (over: RulesOver, { group, isOrdered }: LineState): LimitValues =>
  limitsOfGroup(over, { group: group === "" ? null : group, ordered: isOrdered ? true : null });

/** The earlier of two moments, either of which may be out of sight. */
export const earlier = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);
