import type { LimitRule, RulesOver } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";

/** A queue, or a type in a queue, that has a rule or groups. What is here changes with the epoch only. */
export interface Lane {
  readonly number: number;
  readonly queue: string;
  /** Null for the queue itself. */
  readonly typeName: string | null;
  readonly rule: LimitRule | undefined;
}

/** The lanes of one queue: its own, and those of its types. */
export interface QueueRules {
  readonly own: Lane;
  readonly types: ReadonlyMap<string, Lane>;
}

/** All lanes, as a connection sees them at the moment. */
export interface RuleMap {
  /** Undefined for a queue without rules and groups. */
  get(queue: string): QueueRules | undefined;
  all(): Iterable<Lane>;
  readonly size: number;
}

export interface Lanes {
  /** Costs a look at one number, unless something has changed. */
  read(db: SqliteConnection): RuleMap;
  /** The lane of this name, created if it does not exist; with that of its queue. */
  open(db: SqliteConnection, queue: string, typeName: string | null): Lane;
  setRule(db: SqliteConnection, lane: Lane, rule: LimitRule): void;
}

export const rulesOver = (lanes: QueueRules | undefined, typeName: string): RulesOver => ({
  queue: lanes?.own.rule,
  type: lanes?.types.get(typeName)?.rule,
});

interface Seen extends RuleMap {
  readonly epoch: number;
}

const laneRow = defineRow((columns) => ({
  number: columns.value<number>("number"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  rule: columns.value<string | null>("rule", null),
}));

const createLaneMap = (lanes: readonly Lane[], epoch: number): Seen => {
  const queues = new Map<string, { own: Lane; types: Map<string, Lane> }>();
  // The lane of a queue is made before those of its types.
  for (const lane of lanes) {
    if (lane.typeName === null) queues.set(lane.queue, { own: lane, types: new Map() });
    else queues.get(lane.queue)?.types.set(lane.typeName, lane);
  }
  return { epoch, size: queues.size, get: (queue) => queues.get(queue), all: () => lanes };
};

export const createLanes = ({ flow, lane: table }: Tables): Lanes => {
  const readFlow = `SELECT epoch FROM ${flow} WHERE id = 1`;
  const list = `SELECT ${laneRow.columns} FROM ${table} ORDER BY number`;
  const insert = `INSERT INTO ${table} (queue, type_name) VALUES (?, ?)`;
  const setRule = `UPDATE ${table} SET rule = ? WHERE number = ?`;
  const setEpoch = `UPDATE ${flow} SET epoch = ? WHERE id = 1`;

  // By connection, because they may see different states.
  const seen = new WeakMap<SqliteConnection, Seen>();

  // A random number and not a count: after a rollback, a count would come again for something else.
  const raiseEpoch = (db: SqliteConnection): void =>
    void db.run(setEpoch, [1 + Math.floor(Math.random() * 2 ** 48)]);

  const toLane = ({ number, queue, typeName, rule }: ReturnType<typeof readLanes>[number]): Lane => ({
    number,
    queue,
    typeName: typeName === "" ? null : typeName,
    rule: rule === null ? undefined : (JSON.parse(rule) as LimitRule),
  });
  const readLanes = (db: SqliteConnection) => laneRow.all(db, list, []);

  const read = (db: SqliteConnection): Seen => {
    const epoch = firstNumber(db, readFlow, []) ?? 0;
    const known = seen.get(db);
    if (known?.epoch === epoch) return known;
    const next = createLaneMap(epoch === 0 ? [] : readLanes(db).map(toLane), epoch);
    seen.set(db, next);
    return next;
  };

  const find = (db: SqliteConnection, queue: string, typeName: string | null): Lane | undefined => {
    const lanes = read(db).get(queue);
    return typeName === null ? lanes?.own : lanes?.types.get(typeName);
  };

  const open: Lanes["open"] = (db, queue, typeName) => {
    const found = find(db, queue, typeName);
    if (found !== undefined) return found;
    if (typeName !== null) open(db, queue, null);
    db.run(insert, [queue, typeName ?? ""]);
    raiseEpoch(db);
    return find(db, queue, typeName)!;
  };

  return {
    read,
    open,
    setRule: (db, { number }, rule) => {
      db.run(setRule, [JSON.stringify(rule), number]);
      raiseEpoch(db);
    },
  };
};
