import type { Tables } from "../tables.ts";

/** One step of the schema. Never changed once released: what comes later is a step of its own. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Each can be run again when it was interrupted. */
  readonly statements: (tables: Tables) => readonly string[];
  /** For what PostgreSQL refuses to do in a transaction, such as `CREATE INDEX CONCURRENTLY`. */
  readonly outsideTransaction?: boolean;
}
