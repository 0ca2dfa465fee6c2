import pg from "pg";
import type { PgStateProvider, SqlStatement } from "../database/provider.ts";

/** A provider on one connection that counts the pages its statements touch. */
export interface PageCounter {
  readonly provider: PgStateProvider<object, object>;
  /** How many pages each prepared statement of the call touches, by the plan that it has by now. */
  countPages(call: () => Promise<unknown>): Promise<StatementPages[]>;
}

export interface StatementPages {
  readonly pages: number;
  /** The scans that touched most of them. */
  readonly scans: readonly string[];
  readonly sql: string;
}

interface Plan {
  readonly "Node Type": string;
  readonly "Parent Relationship"?: string;
  readonly "Index Name"?: string;
  readonly Filter?: string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

const pagesOf = (plan: Plan): number => plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];

/** Writes in a WITH query may be run after the query itself, and then are not part of its count. */
const pagesOfWrites = (plan: Plan): number => {
  const own =
    plan["Node Type"] === "ModifyTable" && plan["Parent Relationship"] === "InitPlan" ? pagesOf(plan) : 0;
  return (plan.Plans ?? []).reduce((sum, part) => sum + pagesOfWrites(part), own);
};

const manyPages = 50;

/** The innermost parts of the plan that touch many pages. */
const largeScans = (plan: Plan): string[] => {
  const inner = (plan.Plans ?? []).flatMap(largeScans);
  if (inner.length > 0 || pagesOf(plan) < manyPages) return inner;
  return [`${plan["Node Type"]} ${plan["Index Name"] ?? ""} ${plan.Filter ?? ""}: ${pagesOf(plan)} pages`];
};

const literal = (value: SqlStatement["params"][number]): string =>
  value === null ? "NULL" : pg.escapeLiteral(String(value));

export const createPageCounter = (provider: PgStateProvider<object, object>, pool: pg.Pool): PageCounter => {
  if (pool.options.max !== 1) throw new Error("Plans belong to a connection: there must be only one.");
  let counted: StatementPages[] | undefined;

  // Explaining carries out what it explains, so it is undone before the statement is made for good.
  const undone = async <T>(work: () => Promise<T>): Promise<T> => {
    await pool.query("BEGIN");
    try {
      return await work();
    } finally {
      await pool.query("ROLLBACK");
    }
  };

  const explain = async (statement: SqlStatement): Promise<StatementPages> => {
    const { name, params, sql } = statement;
    const known = await pool.query("SELECT FROM pg_prepared_statements WHERE name = $1", [name]);
    // One that has not been made yet on this connection has no plan either.
    if (known.rowCount === 0) await undone(() => provider.executeSql(undefined, statement));
    const values = params.length === 0 ? "" : `(${params.map(literal).join(", ")})`;
    const { rows } = await undone(() =>
      pool.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE ${name}${values}`,
      ),
    );
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    if (plan === undefined) throw new Error("There is no plan.");
    return { pages: pagesOf(plan) + pagesOfWrites(plan), scans: largeScans(plan), sql };
  };

  return {
    provider: {
      ...provider,
      executeSql: async (ctx, statement) => {
        if (counted !== undefined && statement.name !== undefined && ctx === undefined) {
          counted.push(await explain(statement));
        }
        return provider.executeSql(ctx, statement);
      },
    },
    countPages: async (call) => {
      const found: StatementPages[] = [];
      counted = found;
      try {
        await call();
        return found;
      } finally {
        counted = undefined;
      }
    },
  };
};
