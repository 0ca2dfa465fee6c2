import type { ConformanceRunner } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";

const parts = 3;
const wantsAll = process.env["LEASEHOLD_ALL_CLIENTS"] !== undefined;

/**
 * Runs a third of the tests. For one more client of a server whose statements are all tested through `pg` and postgres.js: a
 * mistake of a client shows in many tests. Each client has its own third, given by `part`, so that together they run all.
 * `npm run test:clients` runs every test through every client.
 */
export const sampled = (part: 0 | 1 | 2): ConformanceRunner => {
  let seen = 0;
  return {
    describe,
    afterAll,
    it: (name, test, timeout) => {
      seen += 1;
      // oxlint-disable-next-line vitest/valid-title, vitest/no-disabled-tests -- the tests are written elsewhere
      const define = it.skipIf(!wantsAll && seen % parts !== part);
      define(name, test, timeout);
    },
  };
};
