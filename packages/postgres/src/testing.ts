import type { BaseStateAdapterContext } from "leasehold/adapter";
import { createTestKit, type TestKit, type TestKitOptions } from "leasehold/testing";
import type { PgStateProvider } from "./database/provider.ts";
import { createPgStateAdapter, type PgStateAdapter } from "./state-adapter.ts";

/** Options of `createPgTestKit`. */
export type PgTestKitOptions<
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> = TestKitOptions<TDefs, PgStateAdapter<TTxContext, TContext>> & {
  /** The one your application has, over PGlite or over a database for tests. */
  readonly stateProvider: PgStateProvider<TTxContext, TContext>;
  /** Created now, and dropped by `close`. Default: a new name. */
  readonly schema?: string | undefined;
  /** As for `createTestKit`. Default: 5. */
  readonly quietMs?: number;
};

export interface PgTestKit<
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> extends TestKit<TDefs, PgStateAdapter<TTxContext, TContext>> {
  readonly schema: string;
  /** Closes the adapter and drops the schema of the jobs. The database itself is yours. */
  close(): Promise<void>;
}

const newSchemaName = (): string => `leasehold_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;

/** A test kit over PostgreSQL: handlers read and write real tables, in the kit's time. */
export const createPgTestKit = async <
  TDefs,
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>({
  stateProvider,
  schema = newSchemaName(),
  quietMs = 5,
  ...options
}: PgTestKitOptions<TDefs, TTxContext, TContext>): Promise<PgTestKit<TDefs, TTxContext, TContext>> => {
  const stateAdapter = await createPgStateAdapter({ stateProvider, schema });
  const kit = await createTestKit<TDefs, PgStateAdapter<TTxContext, TContext>>({
    ...(options as TestKitOptions<TDefs, PgStateAdapter<TTxContext, TContext>>),
    stateAdapter,
    quietMs,
  });
  return {
    ...kit,
    schema,
    close: async () => {
      await stateAdapter.close();
      // The adapter has checked the name.
      await stateProvider.executeSql(undefined, { sql: `DROP SCHEMA ${schema} CASCADE`, params: [] });
    },
  };
};
