import type { TestBench, TestBenchOptions } from "leasehold/testing";
import { createTestBench } from "leasehold/testing";
import type { SqliteStateProvider } from "./provider.ts";
import type { SqliteFileContext } from "./providers/file.ts";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";

export type SqliteTestBenchOptions<TDefs, TContext extends object> = TestBenchOptions<
  TDefs,
  SqliteStateAdapter<TContext>
> & {
  /** For a query builder over a database of your own in memory. Default: one of the adapter's, with `{ client }`. */
  readonly stateProvider?: SqliteStateProvider<TContext> | undefined;
};

export interface SqliteTestBench<TDefs, TContext extends object> extends TestBench<
  TDefs,
  SqliteStateAdapter<TContext>
> {
  close(): Promise<void>;
}

/** A test bench over SQLite in memory: handlers read and write real tables, in the bench's time. */
export const createSqliteTestBench = async <TDefs, TContext extends object = SqliteFileContext>({
  stateProvider,
  ...options
}: SqliteTestBenchOptions<TDefs, TContext>): Promise<SqliteTestBench<TDefs, TContext>> => {
  const stateAdapter = (await (stateProvider
    ? createSqliteStateAdapter({ stateProvider })
    : createSqliteStateAdapter({ file: ":memory:" }))) as SqliteStateAdapter<TContext>;
  const bench = await createTestBench<TDefs, SqliteStateAdapter<TContext>>({ ...options, stateAdapter });
  return { ...bench, close: () => stateAdapter.close() };
};
