import { nthCallConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

nthCallConformance(
  { describe, it, afterAll },
  { time: "real", create: () => createTestStore() },
  { every: 25 },
);
