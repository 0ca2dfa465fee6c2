import { modelConformance, stateAdapterConformance } from "leasehold/testing";
import * as fc from "fast-check";
import { afterAll, describe, inject, it } from "vitest";
import { createPgFixture, createPostgresJsFixture } from "./testing/fixtures.ts";

const runner = { describe, it, afterAll };
const elsewhere = "through PgBouncer with pg, and with postgres.js without PgBouncer";

describe("through PgBouncer in transaction mode", () => {
  describe("with pg", () => {
    const create = (): ReturnType<typeof createPgFixture> => createPgFixture(inject("pgBouncerUrl"), false);
    stateAdapterConformance(runner, { create });
    modelConformance(runner, { create }, { fc, runs: 8 });
  });

  describe("with postgres", () => {
    stateAdapterConformance(runner, {
      create: () => createPostgresJsFixture(inject("pgBouncerUrl"), false),
      testedElsewhere: { flow: elsewhere, history: elsewhere },
    });
  });
});
