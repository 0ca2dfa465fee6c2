import pg from "pg";
import { expect, inject, it } from "vitest";
import { describeSchema } from "../testing/describe-schema.ts";
import { createPgFixture } from "../testing/fixtures.ts";

// A change of this file is a change of every user's database, and needs a new migration. After that,
// `npx vitest run --project postgres packages/postgres/src/migrations/schema-snapshot --update` writes it anew.
it.each(["postgres15Url", "postgres18Url"] as const)(
  "the migrations make this schema (%s)",
  async (server) => {
    const { schema, destroy } = await createPgFixture(inject(server));
    const pool = new pg.Pool({ connectionString: inject(server), max: 1 });
    try {
      const description = await describeSchema(pool, schema);
      const text = Object.entries(description)
        .map(([part, lines]) => [part, ...lines.map((line) => `  ${line}`), ""].join("\n"))
        .join("\n");
      await expect(text).toMatchFileSnapshot("./schema-snapshot.txt");
    } finally {
      await pool.end();
      await destroy();
    }
  },
);
