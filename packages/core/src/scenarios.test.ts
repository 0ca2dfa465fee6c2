import { afterAll, describe, it } from "vitest";
import type { ScenarioFixture } from "./conformance/scenario-fixture.ts";
import { scenarioConformance } from "./conformance/scenario-suite.ts";
import type { NotifyAdapter } from "./contracts/notify-adapter.ts";
import { createNoopNotifyAdapter } from "./memory/noop-notify-adapter.ts";
import { createInProcessNotifyAdapter } from "./memory/notify-adapter.ts";
import { createInProcessStateAdapter } from "./memory/state-adapter.ts";

const inProcess = (createNotifyAdapter: () => NotifyAdapter): ScenarioFixture => ({
  create: async () => {
    const stateAdapter = createInProcessStateAdapter();
    const notifyAdapter = createNotifyAdapter();
    return {
      stateAdapter,
      notifyAdapter,
      destroy: async () => {
        await notifyAdapter.close();
        await stateAdapter.close();
      },
    };
  },
});

describe("with in-process notifications", () => {
  scenarioConformance({ describe, it, afterAll }, inProcess(createInProcessNotifyAdapter));
});

describe("by polling alone", () => {
  scenarioConformance({ describe, it, afterAll }, inProcess(createNoopNotifyAdapter));
});
