import { expect, it } from "vitest";
import { createOpenCalls } from "./transactions.ts";

const failing = async (): Promise<never> => {
  throw new Error("the work failed");
};

it("a transaction that fails waits for a call under way, in whichever copy of its context", async () => {
  const { track, outlive } = createOpenCalls();
  const client = {};
  let end = (): void => {};
  const call = new Promise<void>((resolve) => {
    end = resolve;
  });
  const tracked = track({ client }, () => call);
  let isOver = false;
  const over = outlive({ client }, failing).catch(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  end();
  await Promise.all([tracked, over]);
  expect(isOver).toBe(true);
});

it("a call that is never answered does not keep its transaction, and so its locks, for ever", async () => {
  const { track, outlive } = createOpenCalls();
  const client = {};
  void track({ client }, () => new Promise(() => {}));
  await expect(outlive({ client }, failing)).rejects.toThrow("the work failed");
}, 10_000);
