import { type ConformanceRunner, sampleRunner } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";

const wantsAll = process.env["LEASEHOLD_ALL_CLIENTS"] !== undefined;
const runner: ConformanceRunner = { describe, it, afterAll };

/**
 * Registers a third of the tests. `pg` passes all of them. Every other client has a third, given by `part`.
 * `npm run test:clients` runs every test through every client.
 */
export const sampled = (part: 0 | 1 | 2): ConformanceRunner =>
  wantsAll ? runner : sampleRunner(runner, { part, of: 3 });
