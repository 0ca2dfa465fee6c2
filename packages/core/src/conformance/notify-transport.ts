import { createNotifyAdapter } from "../notify/transport-adapter.ts";
import { transportCountingTests } from "./notify/transport-counting.ts";
import { transportMessageTests } from "./notify/transport-messages.ts";
import { transportSubscriptionTests } from "./notify/transport-subscriptions.ts";
import { notifyAdapterConformance } from "./notify-adapter.ts";
import type { NotifyTransportFixture } from "./notify-transport-fixture.ts";
import { defineTransportTests } from "./notify-transport-suite.ts";
import type { ConformanceRunner } from "./runner.ts";

/**
 * What every transport does while its broker is healthy, on its own and under `createNotifyAdapter`. What it does
 * without its broker is for its own tests.
 */
export const notifyTransportConformance = (
  runner: ConformanceRunner,
  fixture: NotifyTransportFixture,
): void => {
  defineTransportTests(runner, fixture, "messages", transportMessageTests);
  defineTransportTests(runner, fixture, "subscription of a transport", transportSubscriptionTests);
  if (fixture.countsHints) defineTransportTests(runner, fixture, "counters", transportCountingTests);
  notifyAdapterConformance(runner, {
    countsHints: fixture.countsHints,
    create: async () => {
      const { transport, peer, destroy } = await fixture.create();
      const [adapter, peerAdapter] = await Promise.all([
        createNotifyAdapter(transport),
        createNotifyAdapter(peer),
      ]);
      return {
        adapter,
        peer: peerAdapter,
        destroy: async () => {
          await Promise.all([adapter.close(), peerAdapter.close()]);
          await destroy();
        },
      };
    },
  });
};
