import assert from "node:assert/strict";
import type { HintCounter, HintCounting, NotifyTransport } from "../../notify/contract.ts";
import type { TransportScenario, TransportTest } from "../notify-transport-suite.ts";

const countingOf = ({ counting }: NotifyTransport): HintCounting => {
  assert.ok(counting, "The fixture says that the transport counts.");
  return counting;
};

/** Publishes a message with a counter and resolves when the other side has heard it. */
const publishCounted = async (
  { transport, peer, scheduled, listen }: TransportScenario,
  count: number,
): Promise<HintCounter> => {
  const recorder = await listen(peer);
  await listen(transport);
  let counter: HintCounter | undefined;
  await countingOf(transport).publish(scheduled, count, (made) => {
    counter = made;
    return "counted";
  });
  await recorder.waitFor(`${scheduled} counted`);
  assert.ok(counter, "There was no counter.");
  assert.match(counter.hintId, /^[A-Za-z0-9-]{1,64}$/);
  return counter;
};

export const transportCountingTests = (test: TransportTest): void => {
  test("both sides together take exactly the count", async (scenario) => {
    const counter = await publishCounted(scenario, 5);
    const takes = Array.from({ length: 12 }, (_, index) =>
      countingOf(index % 2 === 0 ? scenario.transport : scenario.peer).take(counter, 5, 1),
    );
    const taken = await Promise.all(takes);
    assert.deepEqual(
      taken.toSorted((a, b) => a - b),
      [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    );
  });

  test("whoever wants several gets what is left", async (scenario) => {
    const counter = await publishCounted(scenario, 5);
    const { take } = countingOf(scenario.peer);
    assert.deepEqual(
      [await take(counter, 5, 3), await take(counter, 5, 3), await take(counter, 5, 3)],
      [3, 2, 0],
    );
  });

  test("each message has a counter of its own", async (scenario) => {
    const first = await publishCounted(scenario, 1);
    const { publish, take } = countingOf(scenario.transport);
    let second: HintCounter | undefined;
    await publish(scenario.scheduled, 1, (made) => {
      second = made;
      return "another";
    });
    assert.deepEqual([await take(first, 1, 1), await take(second!, 1, 1)], [1, 1]);
  });

  test("the counter can be asked as soon as the message is heard", async (scenario) => {
    const { transport, peer, scheduled, completed, lost, listen } = scenario;
    await listen(transport);
    let counter: HintCounter | undefined;
    const taken = new Promise<number>((resolve, reject) => {
      const onMessage = (): void => {
        countingOf(peer).take(counter!, 1, 1).then(resolve, reject);
      };
      void peer
        .subscribe([scheduled, completed, lost], { onMessage, onGap: () => {} })
        .then(() =>
          countingOf(transport).publish(scheduled, 1, (made) => {
            counter = made;
            return "counted";
          }),
        )
        .catch(reject);
    });
    assert.equal(await taken, 1);
  });

  test("there is nothing to take from an unknown counter", async (scenario) => {
    const counter = await publishCounted(scenario, 3);
    const { take } = countingOf(scenario.peer);
    assert.equal(await take({ ...counter, hintId: "no-such-counter" }, 3, 1), 0);
  });
};
