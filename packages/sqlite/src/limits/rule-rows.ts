import {
  type GroupState,
  type LimitRule,
  limitsOfGroup,
  type LimitValues,
  type RulesOver,
  type ScopeState,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { type Columns, defineRow, firstNumber, type Row } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** A queue, or a type in a queue, that has a rule or groups. Changes only with the epoch. */
export interface LimitRuleRow {
  readonly id: number;
  readonly queue: string;
  /** Null for the queue itself. */
  readonly typeName: string | null;
  readonly rule: LimitRule | undefined;
}

/** The rows of one queue: its own, and those of its types. */
export interface QueueRules {
  readonly own: LimitRuleRow;
  readonly types: ReadonlyMap<string, LimitRuleRow>;
}

/** All rows, in the state that a connection reads. */
export interface RuleMap {
  /** Undefined for a queue without rules and groups. */
  get(queue: string): QueueRules | undefined;
  all(): Iterable<LimitRuleRow>;
  readonly size: number;
}

export interface LimitRuleRows {
  /** Reads one number, the epoch, unless a rule has changed. */
  read(db: SqliteConnection): RuleMap;
  /** The row of this name. Creates it if it does not exist, and that of its queue. */
  open(db: SqliteConnection, queue: string, typeName: string | null): LimitRuleRow;
  setRule(db: SqliteConnection, row: LimitRuleRow, rule: LimitRule): void;
}

export const rulesOver = (rules: QueueRules | undefined, typeName: string): RulesOver => ({
  queue: rules?.own.rule,
  type: rules?.types.get(typeName)?.rule,
});

interface CachedRules extends RuleMap {
  readonly epoch: number;
}

const limitRuleRow = defineRow((columns) => ({
  id: columns.value<number>("id"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  rule: columns.value<string | null>("rule", null),
}));

const createRuleMap = (rows: readonly LimitRuleRow[], epoch: number): CachedRules => {
  const queues = new Map<string, { own: LimitRuleRow; types: Map<string, LimitRuleRow> }>();
  // The row of a queue is inserted before those of its types.
  for (const row of rows) {
    if (row.typeName === null) queues.set(row.queue, { own: row, types: new Map() });
    else queues.get(row.queue)?.types.set(row.typeName, row);
  }
  return { epoch, size: queues.size, get: (queue) => queues.get(queue), all: () => rows };
};

export const createLimitRuleRows = ({ limitEpoch, limitRule }: Tables): LimitRuleRows => {
  const readEpoch = `SELECT epoch FROM ${limitEpoch} WHERE id = 1`;
  const list = `SELECT ${limitRuleRow.columns} FROM ${limitRule} ORDER BY id`;
  const insert = `INSERT INTO ${limitRule} (queue, type_name) VALUES (?, ?)`;
  const setRule = `UPDATE ${limitRule} SET rule = ? WHERE id = ?`;
  const setEpoch = `UPDATE ${limitEpoch} SET epoch = ? WHERE id = 1`;

  // By connection: two connections may read different states.
  const cached = new WeakMap<SqliteConnection, CachedRules>();

  // A random number and not a count: after a rollback, a count would be used again for another change.
  const changeEpoch = (db: SqliteConnection): void =>
    void db.run(setEpoch, [1 + Math.floor(Math.random() * 2 ** 48)]);

  const readRows = (db: SqliteConnection): LimitRuleRow[] =>
    limitRuleRow.all(db, list, []).map(({ id, queue, typeName, rule }) => ({
      id,
      queue,
      typeName: typeName === "" ? null : typeName,
      rule: rule === null ? undefined : (JSON.parse(rule) as LimitRule),
    }));

  const read = (db: SqliteConnection): CachedRules => {
    const epoch = firstNumber(db, readEpoch, []) ?? 0;
    const known = cached.get(db);
    if (known?.epoch === epoch) return known;
    const next = createRuleMap(epoch === 0 ? [] : readRows(db), epoch);
    cached.set(db, next);
    return next;
  };

  const find = (db: SqliteConnection, queue: string, typeName: string | null): LimitRuleRow | undefined => {
    const rules = read(db).get(queue);
    return typeName === null ? rules?.own : rules?.types.get(typeName);
  };

  const open: LimitRuleRows["open"] = (db, queue, typeName) => {
    const found = find(db, queue, typeName);
    if (found !== undefined) return found;
    if (typeName !== null) open(db, queue, null);
    db.run(insert, [queue, typeName ?? ""]);
    changeEpoch(db);
    return find(db, queue, typeName)!;
  };

  return {
    read,
    open,
    setRule: (db, { id }, rule) => {
      db.run(setRule, [JSON.stringify(rule), id]);
      changeEpoch(db);
    },
  };
};

/** What is kept for a queue or a type besides its rule. */
export interface RuleState extends ScopeState {
  readonly id: number;
}

export const ruleStateRow: Row<RuleState> = defineRow((columns): RuleState => ({
  id: columns.value("id"),
  running: columns.value("running"),
  bucketFullAt: columns.value("bucket_full_at"),
  servedVirtualTime: columns.value("served_virtual_time"),
  ungroupedVirtualTime: columns.value("ungrouped_virtual_time"),
  isUngroupedClaimable: columns.holds("ungrouped_claimable"),
}));

export const describeGroup = (columns: Columns): GroupState => ({
  key: columns.value("claim_key"),
  group: columns.value("group_key"),
  isOrdered: columns.holds("ordered"),
  running: columns.value("running"),
  bucketFullAt: columns.value("bucket_full_at"),
  virtualTime: columns.value("virtual_time"),
  claimableAt: columns.value("claimable_at", null),
  stoppedBy: columns.value("stopped_by", null),
  pausedUntil: columns.value("paused_until", null),
});

export const groupRow: Row<GroupState> = defineRow(describeGroup);

export const limitsOf = (rules: RulesOver, { group, isOrdered }: GroupState): LimitValues =>
  limitsOfGroup(rules, { group, ordered: isOrdered ? true : null });
