import Database from "libsql";
import type { SqliteConnection } from "../database/connection.ts";
import type { SqliteStateProvider } from "../database/provider.ts";
import { type BetterSqlite3Database, createBetterSqlite3StateProvider } from "../providers/drivers.ts";

export interface RecordingProvider {
  readonly provider: SqliteStateProvider<{ readonly client: BetterSqlite3Database }>;
  /** Every statement that was run, on either connection. */
  readonly statements: string[];
  /** Called before each statement of the writer; may throw, or do something to the connection. */
  onStatement: (sql: string, writer: SqliteConnection) => void;
  /** Called after each of them that succeeded; may throw. */
  afterStatement: () => void;
}

/** A provider over libsql that records every statement. */
export const createRecordingProvider = (file: string): RecordingProvider => {
  const open = (): BetterSqlite3Database => new Database(file);
  const provider = createBetterSqlite3StateProvider({ database: open(), reader: open(), file });
  const statements: string[] = [];
  const recording: RecordingProvider = {
    provider: { ...provider, writer: undefined as never, reader: undefined as never },
    statements,
    onStatement: () => undefined,
    afterStatement: () => undefined,
  };
  const record = (connection: SqliteConnection, isWriter: boolean): SqliteConnection => {
    const note = <T>(sql: string, run: () => T): T => {
      statements.push(sql);
      if (isWriter) recording.onStatement(sql, connection);
      const result = run();
      if (isWriter) recording.afterStatement();
      return result;
    };
    return {
      exec: (sql) => note(sql, () => connection.exec(sql)),
      run: (sql, values) => note(sql, () => connection.run(sql, values)),
      query: (sql, values) => note(sql, () => connection.query(sql, values)),
      first: (sql, values) => note(sql, () => connection.first(sql, values)),
      close: () => connection.close(),
    };
  };
  const { writer, reader } = provider;
  return Object.assign(recording, {
    provider: {
      ...provider,
      writer: record(writer, true),
      reader: reader === null ? null : record(reader, false),
      close: () => {
        writer.close();
        reader?.close();
      },
    },
  });
};
