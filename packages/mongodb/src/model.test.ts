import * as fc from "fast-check";
import { modelConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { isFull } from "./testing/length.ts";
import { createTestStore } from "./testing/store.ts";

modelConformance(
  { describe, it, afterAll },
  {
    create: () => createTestStore(),
    without: {
      limits: "not built yet",
      history: "not built yet",
    },
  },
  { fc, runs: isFull ? 60 : 30 },
);
