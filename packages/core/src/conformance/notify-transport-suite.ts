import type { NotifyTransport } from "../notify/contract.ts";
import { withDeadline } from "../base/runtime.ts";
import { kinds } from "../notify/contract.ts";
import type { NotifyTransportFixture } from "./notify-transport-fixture.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import type { ConformanceRunner } from "./runner.ts";

export interface TransportScenario {
  readonly transport: NotifyTransport;
  readonly peer: NotifyTransport;
  /** The full names of the channels. */
  readonly scheduled: string;
  readonly completed: string;
  readonly lost: string;
  /** Subscribes to all channels, as every transport does before it publishes, and records `channel message`. */
  listen(transport: NotifyTransport): Promise<Recorder>;
  /** Closes a transport before the end of the test. */
  close(transport: NotifyTransport): Promise<void>;
}

export type TransportTest = (name: string, run: (scenario: TransportScenario) => Promise<void>) => void;

const deadlineMs = 5_000;

/** A call that never settles fails by its own name instead of the test's time-out. */
const settling = <T>(what: string, call: Promise<T>): Promise<T> =>
  withDeadline(call, deadlineMs, () => new Error(`${what} did not settle within ${deadlineMs} ms.`));

const withDeadlines = (transport: NotifyTransport): NotifyTransport => ({
  ...transport,
  publish: (channel, messages) => settling("publish", transport.publish(channel, messages)),
  subscribe: (channels, handlers) => settling("subscribe", transport.subscribe(channels, handlers)),
  close: () => settling("close", transport.close()),
});

export const defineTransportTests = (
  runner: ConformanceRunner,
  fixture: NotifyTransportFixture,
  name: string,
  define: (test: TransportTest) => void,
): void => {
  const { jobScheduled, jobSequenceCompleted, jobOwnershipLost } = kinds;

  const run = async (test: (scenario: TransportScenario) => Promise<void>): Promise<void> => {
    const made = await fixture.create();
    const transport = withDeadlines(made.transport);
    const peer = withDeadlines(made.peer);
    const open = new Set([transport, peer]);
    const scheduled = transport.channelFor(jobScheduled.channel);
    const completed = transport.channelFor(jobSequenceCompleted.channel);
    const lost = transport.channelFor(jobOwnershipLost.channel);
    const close = async (which: NotifyTransport): Promise<void> => {
      if (open.delete(which)) await which.close();
    };
    try {
      await test({
        transport,
        peer,
        scheduled,
        completed,
        lost,
        listen: async (which) => {
          const recorder = createRecorder();
          await which.subscribe([scheduled, completed, lost], {
            onMessage: (channel, message) => recorder.record(`${channel} ${message}`),
            onGap: () => {},
          });
          return recorder;
        },
        close,
      });
    } finally {
      await Promise.all([close(transport), close(peer)]);
      await made.destroy();
    }
  };

  runner.describe(name, () => {
    define((testName, test) => runner.it(testName, () => run(test)));
  });
};
