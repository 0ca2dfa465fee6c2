import { createTestKit, type TestKit, type TestKitOptions } from "leasehold/testing";
import type { SqliteStateProvider } from "./database/provider.ts";
import type { SqliteFileContext } from "./providers/file.ts";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";

/** Options of `createSqliteTestKit`. */
export type SqliteTestKitOptions<TDefs, TContext extends object> = TestKitOptions<
  TDefs,
  SqliteStateAdapter<TContext>
> & {
  /** For a query builder over a database of your own in memory. Default: one of the adapter's, with `{ client }`. */
  readonly stateProvider?: SqliteStateProvider<TContext> | undefined;
};

export interface SqliteTestKit<TDefs, TContext extends object> extends TestKit<
  TDefs,
  SqliteStateAdapter<TContext>
> {
  close(): Promise<void>;
}

/** A test kit over SQLite in memory: handlers read and write real tables, in the kit's time. */
export const createSqliteTestKit = async <TDefs, TContext extends object = SqliteFileContext>({
  stateProvider,
  ...options
}: SqliteTestKitOptions<TDefs, TContext>): Promise<SqliteTestKit<TDefs, TContext>> => {
  const stateAdapter = (await (stateProvider
    ? createSqliteStateAdapter({ stateProvider })
    : createSqliteStateAdapter({ file: ":memory:" }))) as SqliteStateAdapter<TContext>;
  const kit = await createTestKit<TDefs, SqliteStateAdapter<TContext>>({ ...options, stateAdapter });
  return { ...kit, close: () => stateAdapter.close() };
};
