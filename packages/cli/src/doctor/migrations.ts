import { plural } from "../output/amounts.ts";
import type { OpenedStore, SqlDatabase } from "../store/store.ts";
import { type Finding, ok, problem } from "./finding.ts";

export const checkMigrations = async ({ migrations, database }: OpenedStore): Promise<readonly Finding[]> => {
  if (migrations === undefined) return [];
  const { applied, pending } = await migrations.status();
  // In MongoDB there is nothing to migrate but indexes, and they have a check of their own.
  if (database?.kind === "mongodb" && applied.length > 0) {
    return [ok("migrations", "The collections are there.")];
  }
  return pending.length === 0
    ? [ok("migrations", `${plural(applied.length, "migration")} applied, none pending.`)]
    : [problem("migrations", `${plural(pending.length, "migration")} pending.`, "Run `leasehold migrate`.")];
};

/** The names of the indexes in the SQL that makes the tables: one list, in the migrations, and no copy of it here. */
const expectedIndexes = (sql: string): string[] =>
  [
    ...sql.matchAll(
      /CREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)"?/gi,
    ),
  ].map(([, name]) => name!);

/** `found` are the names there are, `broken` those among them that the database does not use. */
export const checkIndexes = async (
  database: SqlDatabase,
  found: readonly string[],
  broken: readonly string[] = [],
): Promise<readonly Finding[]> => {
  const expected = expectedIndexes(await database.wholeSchema());
  const missing = expected.filter((name) => !found.includes(name) || broken.includes(name));
  return missing.length === 0
    ? [ok("indexes", `All ${expected.length} indexes are there.`)]
    : [
        problem(
          "indexes",
          `Missing or invalid: ${missing.join(", ")}. Claims and lists get slow with the number of jobs.`,
          "Create them again: `leasehold migrate --dry-run` on an empty database prints the SQL.",
        ),
      ];
};
