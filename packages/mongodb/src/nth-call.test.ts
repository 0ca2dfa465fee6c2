import { nthCallConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { isFull } from "./testing/length.ts";
import { createTestStore } from "./testing/store.ts";

nthCallConformance(
  { describe, it, afterAll },
  { time: "real", create: () => createTestStore() },
  { every: isFull ? 25 : 50 },
);
