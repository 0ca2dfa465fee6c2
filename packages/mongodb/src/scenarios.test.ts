import { createInProcessNotifyAdapter } from "leasehold";
import { sampleRunner, scenarioConformance } from "leasehold/testing";
import { afterAll, describe, it } from "vitest";
import { isFull } from "./testing/length.ts";
import { createTestStore } from "./testing/store.ts";

const runner = { describe, it, afterAll };

scenarioConformance(isFull ? runner : sampleRunner(runner, { part: 0, of: 2 }), {
  create: async () => {
    const { adapter, destroy } = await createTestStore();
    return { stateAdapter: adapter, notifyAdapter: createInProcessNotifyAdapter(), destroy };
  },
});
