import { createInProcessNotifyAdapter } from "leasehold";
import { scenarioConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { createTestStore } from "./testing/store.ts";

scenarioConformance(
  { describe, it, afterAll },
  {
    create: async () => {
      const { adapter, destroy } = await createTestStore();
      return { stateAdapter: adapter, notifyAdapter: createInProcessNotifyAdapter(), destroy };
    },
  },
);
