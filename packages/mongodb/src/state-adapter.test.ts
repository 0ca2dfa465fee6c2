import { stateAdapterConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

stateAdapterConformance(
  { describe, it, afterAll },
  {
    create: () => createTestStore(),
    without: {
      recurring: "not built yet",
      edits: "not built yet",
      limits: "not built yet",
      history: "not built yet",
    },
  },
);
