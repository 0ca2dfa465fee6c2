import * as fc from "fast-check";
import { modelConformance, stateAdapterConformance } from "leasehold/testing";
import { afterAll, describe, inject, it } from "vitest";
import { createPgFixture, createPostgresJsFixture } from "./testing/fixtures.ts";
import { reuseStores } from "./testing/reuse-stores.ts";
import { sampled } from "./testing/sampled.ts";

const runner = { describe, it, afterAll };
// What PgBouncer changes is which connection a statement runs on. That shows with the jobs; the other parts are statements alike.
const elsewhere = "with the same clients without PgBouncer";

const testedElsewhere = { recurring: elsewhere, edits: elsewhere, limits: elsewhere, history: elsewhere };

describe("through PgBouncer in transaction mode", () => {
  describe("with pg", () => {
    const create = (): ReturnType<typeof createPgFixture> => createPgFixture(inject("pgBouncerUrl"), false);
    stateAdapterConformance(sampled(0), { create: reuseStores(create), testedElsewhere });
    modelConformance(runner, { create }, { fc, runs: 8 });
  });

  describe("with postgres", () => {
    stateAdapterConformance(sampled(1), {
      create: reuseStores(() => createPostgresJsFixture(inject("pgBouncerUrl"), false)),
      testedElsewhere,
    });
  });
});
