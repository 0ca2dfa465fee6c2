const getRows = "_getRows";

/** What is used of the connection of a client of `pg`. Cursors and streams of rows are built on the same methods. */
interface PgConnection {
  parse(message: { readonly text: string; readonly name: string; readonly types: readonly number[] }): void;
  bind(message: { readonly portal: string; readonly statement: string; readonly values: unknown[] }): void;
  execute(message: { readonly portal: string; readonly rows?: number }): void;
  sync(): void;
}

export interface PgResult {
  readonly rows: Record<string, unknown>[];
  readonly command?: string;
}

interface PgQuery {
  readonly portal: string;
  /** Sends all messages of the query, and ends with `getRows`. */
  prepare(connection: PgConnection): void;
  /** Sends Execute and Sync. */
  [getRows](connection: PgConnection, rows?: number): void;
  hasBeenParsed(connection: PgConnection): unknown;
  requiresPreparation(): boolean;
  callback?: (error: Error | null, results: PgResult[]) => void;
}

interface QueryConfig {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
}

type PgQueryClass = new (config: QueryConfig) => PgQuery;

/** Statements without parameters that go out together with a query. */
export interface Companions {
  readonly before?: string;
  readonly after?: string;
}

interface TogetherQuery extends PgQuery {
  companions: Companions;
  /** The server had prepared the statement before. */
  wasPrepared: boolean;
}

type TogetherClass = new (config: QueryConfig) => TogetherQuery;

const send = (connection: PgConnection, text: string): void => {
  connection.parse({ text, name: "", types: [] });
  connection.bind({ portal: "", statement: "", values: [] });
  connection.execute({ portal: "" });
};

/**
 * A query whose companions are in its group of messages: there is one Sync, at the end. If a statement of the group fails, the
 * server skips the rest, so that no statement runs without the `BEGIN` before it, and no `COMMIT` after one that has failed.
 */
const extendQuery = (Query: PgQueryClass): TogetherClass =>
  class extends Query {
    companions: Companions = {};
    wasPrepared = false;

    /** Only the extended protocol has groups. */
    override requiresPreparation(): boolean {
      return true;
    }

    override prepare(connection: PgConnection): void {
      this.wasPrepared = Boolean(this.hasBeenParsed(connection));
      if (this.companions.before !== undefined) send(connection, this.companions.before);
      super.prepare(connection);
    }

    override [getRows](connection: PgConnection, rows?: number): void {
      const { after } = this.companions;
      if (after === undefined) {
        super[getRows](connection, rows);
        return;
      }
      connection.execute({ portal: this.portal });
      send(connection, after);
      connection.sync();
    }
  };

const extended = new WeakMap<PgQueryClass, TogetherClass>();

/** Undefined for a client that is not one of `pg`, or one of its native binding. */
const queryClassOf = (client: object): TogetherClass | undefined => {
  const { Query } = client.constructor as { readonly Query?: PgQueryClass };
  if (typeof Query?.prototype?.[getRows] !== "function") return undefined;
  let together = extended.get(Query);
  if (together === undefined) extended.set(Query, (together = extendQuery(Query)));
  return together;
};

export const canSendTogether = (client: object): boolean => queryClassOf(client) !== undefined;

/**
 * Sends a query and its companions in one round trip. Resolves with the results of all of them in order. `onDoubt`: it has failed,
 * and the client may be wrong about which statements the server has prepared.
 */
export const sendTogether = (
  client: object,
  config: QueryConfig,
  companions: Companions,
  onDoubt: () => void,
): Promise<PgResult[]> =>
  new Promise((resolve, reject) => {
    const query = new (queryClassOf(client)!)(config);
    query.companions = companions;
    query.callback = (error, results) => {
      if (error === null) {
        resolve(results);
        return;
      }
      if (!query.wasPrepared) onDoubt();
      reject(error);
    };
    (client as { query(submitted: PgQuery): void }).query(query);
  });
