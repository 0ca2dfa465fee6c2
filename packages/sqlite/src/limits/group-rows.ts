import {
  type GroupState,
  type LimitValues,
  limitsOfGroup,
  type RulesOver,
  type ScopeState,
} from "leasehold/adapter";
import { type Columns, defineRow, type Row } from "../database/sql.ts";

/** What is kept for a queue or a type besides its rule. */
export interface RuleState extends ScopeState {
  readonly number: number;
}

export const ruleStateRow: Row<RuleState> = defineRow((columns): RuleState => ({
  number: columns.value("number"),
  running: columns.value("running"),
  bucketFullAt: columns.value("tat"),
  virtualTime: columns.value("turn"),
  servedVirtualTime: columns.value("served"),
  ungroupedVirtualTime: columns.value("ungrouped_turn"),
  isUngroupedClaimable: columns.holds("ungrouped_open"),
}));

export const describeGroup = (columns: Columns): GroupState => ({
  key: columns.value("number"),
  group: columns.value("group_key"),
  isOrdered: columns.holds("ordered"),
  running: columns.value("running"),
  bucketFullAt: columns.value("tat"),
  virtualTime: columns.value("turn"),
  claimableAt: columns.value("wake_at", null),
  stoppedBy: columns.value("stopped_by", null),
});

export const groupRow: Row<GroupState> = defineRow(describeGroup);

export const limitsOf = (rules: RulesOver, { group, isOrdered }: GroupState): LimitValues =>
  limitsOfGroup(rules, { group, ordered: isOrdered ? true : null });
