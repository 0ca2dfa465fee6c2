import { stateAdapterConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

stateAdapterConformance(
  { describe, it, afterAll },
  {
    create: () => createTestStore(),
    without: {
      limits: "not built yet",
      history: "not built yet",
    },
  },
);
