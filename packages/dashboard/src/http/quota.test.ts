import { expect, it } from "vitest";
import { createQuota } from "./guard.ts";

const never = new AbortController().signal;

/** Work that ends when the test ends it. */
const createWork = () => {
  let end = (): void => undefined;
  const promise = new Promise<string>((resolve) => {
    end = () => resolve("done");
  });
  let hasBegun = false;
  const work = (): Promise<string> => {
    hasBegun = true;
    return promise;
  };
  return { work, end: () => end(), hasBegun: () => hasBegun };
};

it("lets a person have some requests at a time, and the others wait for their turn", async () => {
  const quota = createQuota({ most: 2, mostWaiting: 1 });
  const [first, second, third, other] = [createWork(), createWork(), createWork(), createWork()];
  const all = [first, second, third].map(({ work }) => quota.run("grace", never, work));
  expect([first, second, third].map(({ hasBegun }) => hasBegun())).toEqual([true, true, false]);
  await expect(quota.run("grace", never, async () => "refused")).rejects.toMatchObject({ status: 429 });
  const others = quota.run("ada", never, other.work);
  expect(other.hasBegun()).toBe(true);
  second.end();
  await expect.poll(third.hasBegun).toBe(true);
  for (const { end } of [first, third, other]) end();
  expect(await Promise.all([...all, others])).toEqual(["done", "done", "done", "done"]);
  expect(await quota.run("grace", never, async () => "again")).toBe("again");
});

it("drops a waiting request whose client has disconnected", async () => {
  const quota = createQuota({ most: 1, mostWaiting: 1 });
  const first = createWork();
  const running = quota.run("grace", never, first.work);
  const client = new AbortController();
  const gone = createWork();
  const waiting = quota.run("grace", client.signal, gone.work);
  client.abort();
  await expect(waiting).rejects.toMatchObject({ status: 503 });
  const next = quota.run("grace", never, async () => "next");
  first.end();
  await running;
  expect(await next).toBe("next");
  expect(gone.hasBegun()).toBe(false);
});

it("gives the place of work that fails to the next", async () => {
  const quota = createQuota({ most: 1, mostWaiting: 1 });
  const failing = quota.run("grace", never, () => Promise.reject(new Error("no")));
  const next = quota.run("grace", never, async () => "next");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
});
