import type { BaseStateAdapterContext } from "leasehold/adapter";
import { createTestBench, type TestBench, type TestBenchOptions } from "leasehold/testing";
import type { PgStateProvider } from "./provider.ts";
import { createPgStateAdapter, type PgStateAdapter } from "./state-adapter.ts";

export type PgTestBenchOptions<
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> = TestBenchOptions<TDefs, PgStateAdapter<TTxContext, TContext>> & {
  /** The one your application has, over PGlite or over a database for tests. */
  readonly stateProvider: PgStateProvider<TTxContext, TContext>;
  /** Created now, and dropped by `close`. Default: a new name. */
  readonly schema?: string | undefined;
  /** As for `createTestBench`. Default: 5. */
  readonly quietMs?: number;
};

export interface PgTestBench<
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> extends TestBench<TDefs, PgStateAdapter<TTxContext, TContext>> {
  readonly schema: string;
  /** Closes the adapter and drops the schema of the jobs. The database itself is yours. */
  close(): Promise<void>;
}

const newSchemaName = (): string => `leasehold_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;

/** A test bench over PostgreSQL: handlers read and write real tables, in the bench's time. */
export const createPgTestBench = async <
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>({
  stateProvider,
  schema = newSchemaName(),
  quietMs = 5,
  ...options
}: PgTestBenchOptions<TDefs, TTxContext, TContext>): Promise<PgTestBench<TDefs, TTxContext, TContext>> => {
  const stateAdapter = await createPgStateAdapter({ stateProvider, schema });
  const bench = await createTestBench<TDefs, PgStateAdapter<TTxContext, TContext>>({
    ...(options as TestBenchOptions<TDefs, PgStateAdapter<TTxContext, TContext>>),
    stateAdapter,
    quietMs,
  });
  return {
    ...bench,
    schema,
    close: async () => {
      await stateAdapter.close();
      // The adapter has checked the name.
      await stateProvider.executeSql(undefined, { sql: `DROP SCHEMA ${schema} CASCADE`, params: [] });
    },
  };
};
