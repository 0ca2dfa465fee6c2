import { expect, it } from "vitest";
import { rights } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";

it("sets and clears limits, and writes down who did", async () => {
  const { leasehold, read, act } = await openShop(rights);
  const rate = { limit: 100, perMs: 60_000 };
  const set = await act("limits/set", {
    queue: "default",
    concurrency: 5,
    rate,
    perGroup: { concurrency: 1 },
  });
  expect([set.status, set.body.concurrency]).toEqual([200, 5]);
  expect(await leasehold.limits.list()).toMatchObject([
    { queue: "default", typeName: null, concurrency: 5, rate, perGroup: { concurrency: 1, rate: null } },
  ]);
  const { version } = set.body;
  // What is not named stays.
  await act("limits/set", { queue: "default", concurrency: null, expectedVersion: version });
  expect(await leasehold.limits.list()).toMatchObject([
    { concurrency: null, rate, perGroup: { concurrency: 1 } },
  ]);
  await act("limits/set", { queue: "default", rate: null, perGroup: null });
  expect(await leasehold.limits.list()).toMatchObject([{ concurrency: null, rate: null, perGroup: null }]);
  const { actions } = (await read("actions")).body;
  expect(actions).toHaveLength(3);
  expect(actions[2]).toMatchObject({
    user: "grace",
    kind: "set_limits",
    plan: { queue: "default", concurrency: 5 },
    result: { state: "done" },
  });
});

it("does not overwrite limits that another user has changed meanwhile", async () => {
  const { leasehold, act } = await openShop(rights);
  const { version } = await leasehold.limits.set({ queue: "default", concurrency: 5 });
  await leasehold.limits.set({ queue: "default", concurrency: 6 });
  const refused = await act("limits/set", { queue: "default", concurrency: 7, expectedVersion: version });
  expect([refused.status, refused.body.error.code]).toEqual([409, "VersionMismatch"]);
  expect(await leasehold.limits.list()).toMatchObject([{ concurrency: 6 }]);
});

it.each([
  [{ concurrency: 5 }, 400],
  [{ queue: "default", concurrency: 0 }, 400],
  [{ queue: "default", concurrency: "5 or so" }, 400],
  [{ queue: "default", rate: { limit: 5 } }, 400],
  [{ queue: "default", rate: { limit: 5, perMs: 1e12 } }, 400],
  [{ queue: "default", weights: {} }, 400],
])("refuses limits such as %o", async (body, status) => {
  const { leasehold, act } = await openShop(rights);
  const answer = await act("limits/set", body);
  expect(answer.status).toBe(status);
  expect(answer.body.error.message).toMatch(/queue|concurrency|perMs|weights/);
  expect(await leasehold.limits.list()).toEqual([]);
});
