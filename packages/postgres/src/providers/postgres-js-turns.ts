/** Runs the call when it is its turn; `alone`: on a connection that has no other calls under way. */
export type TakeTurn = <T>(alone: boolean, run: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly alone: boolean;
  readonly start: () => void;
}

const createTurns = (connections: number): TakeTurn => {
  const waiting: Waiting[] = [];
  let underWay = 0;

  const mayStart = (alone: boolean): boolean => !alone || underWay < connections;

  const startNext = (): void => {
    while (waiting.length > 0 && mayStart(waiting[0]!.alone)) {
      underWay += 1;
      waiting.shift()!.start();
    }
  };

  return async (alone, run) => {
    if (waiting.length === 0 && mayStart(alone)) underWay += 1;
    else await new Promise<void>((resolve) => waiting.push({ alone, start: resolve }));
    try {
      return await run();
    } finally {
      underWay -= 1;
      startNext();
    }
  };
};

const turnsOf = new WeakMap<object, TakeTurn>();

/**
 * While all connections are busy, the library sends `begin` behind the queries of one of them. If 100 are on their way there,
 * or the socket does not take more, it does not reserve the connection: `begin` fails with `UNSAFE_TRANSACTION`, and its
 * transaction stays open. Later queries on that connection become part of it, are never committed, and keep their locks.
 *
 * So a transaction begins only while the provider has fewer calls under way than there are connections. Calls that come after
 * it wait for that, too.
 *
 * Without prepared statements, as behind PgBouncer, the same holds for every call: PgBouncer 1.18 stops answering a connection
 * on which unprepared queries are sent one behind the other.
 */
export const takeTurns = (sql: object): TakeTurn => {
  const known = turnsOf.get(sql);
  if (known !== undefined) return known;
  const { max } = (sql as { readonly options?: { readonly max?: unknown } }).options ?? {};
  const turns = createTurns(typeof max === "number" && max > 0 ? max : Infinity);
  turnsOf.set(sql, turns);
  return turns;
};
