import { randomBytes } from "node:crypto";
import type { IsolationLevel } from "leasehold/adapter";
import pg from "pg";

export interface RoleWithDefault {
  /** The server, as this role. */
  readonly url: string;
  drop(): Promise<void>;
}

/** A role whose transactions have this isolation level unless they say otherwise. */
export const createRoleWithDefault = async (url: string, level: IsolationLevel): Promise<RoleWithDefault> => {
  const name = `role_${randomBytes(6).toString("hex")}`;
  const run = async (...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  await run(
    `CREATE ROLE ${name} LOGIN SUPERUSER`,
    `ALTER ROLE ${name} SET default_transaction_isolation = '${level}'`,
  );
  const asRole = new URL(url);
  asRole.username = name;
  return { url: asRole.href, drop: () => run(`DROP OWNED BY ${name} CASCADE`, `DROP ROLE ${name}`) };
};
