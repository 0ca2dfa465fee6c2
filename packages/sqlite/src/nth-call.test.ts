import { nthCallConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./test-support/store.ts";

nthCallConformance(
  { describe, it, afterAll },
  { time: "real", create: () => createTestStore() },
  { every: 25 },
);
