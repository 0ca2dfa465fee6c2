import { stateAdapterConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

stateAdapterConformance(
  { describe, it, afterAll },
  {
    create: createTestStore,
    without: { statistics: "not yet measured on a real server", flow: "not built yet" },
  },
);
