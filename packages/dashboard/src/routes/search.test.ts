import { expect, it } from "vitest";
import { rights } from "../http/rights.ts";
import { openShop } from "../testing/open-shop.ts";

const openWithOrders = async (can: Parameters<typeof openShop>[0], redact?: () => boolean) => {
  const shop = await openShop(can, redact === undefined ? {} : { redact });
  for (const item of ["green tea", 'black "tea"', "milk"])
    await shop.leasehold.startJobSequence({ typeName: "order", input: { item, password: "teapot" } });
  const itemsWith = async (text: string): Promise<string[]> => {
    const { status, body } = await shop.read(`jobs?order=oldest&inputContains=${encodeURIComponent(text)}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ cursor: null, searchedTo: null });
    const inputs = await Promise.all(
      body.jobs.map(({ id }: { readonly id: string }) => shop.leasehold.jobs.get({ id })),
    );
    return inputs.map((job) => job.input.item);
  };
  return { ...shop, itemsWith };
};

it("finds jobs by a text in their input", async () => {
  const { itemsWith } = await openWithOrders(["read", "payloads"]);
  expect(await itemsWith("tea")).toEqual(["green tea", 'black "tea"']);
  expect(await itemsWith('"tea"')).toEqual(['black "tea"']);
  expect(await itemsWith("item")).toHaveLength(3);
  expect(await itemsWith("coffee")).toEqual([]);
});

it("finds nothing in what is hidden", async () => {
  expect(await (await openWithOrders(["read", "payloads"])).itemsWith("teapot")).toEqual([]);
  const { itemsWith } = await openWithOrders(["read", "payloads"], () => true);
  expect(await itemsWith("milk")).toEqual([]);
});

it("answers a search for hidden text like a search for text that is nowhere", async () => {
  const { read } = await openWithOrders(["read", "payloads"]);
  for (const text of ["teapot", "teapo", "nowhere"]) {
    const { body } = await read(`jobs?limit=1&inputContains=${text}`);
    expect({ ...body, now: null }).toEqual({ jobs: [], cursor: null, searchedTo: null, now: null });
  }
});

it("finds each job once, page by page", async () => {
  const { read, itemsWith } = await openWithOrders(["read", "payloads"]);
  const all = (await read("jobs?order=oldest&inputContains=tea")).body.jobs;
  expect(await itemsWith("tea")).toHaveLength(2);
  const paged: unknown[] = [];
  for (let cursor = ""; ;) {
    const { body } = await read(`jobs?order=oldest&limit=1&inputContains=tea${cursor}`);
    paged.push(...body.jobs);
    if (body.cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(body.cursor)}`;
  }
  expect(paged.map((job) => (job as { id: string }).id)).toEqual(
    all.map(({ id }: { readonly id: string }) => id),
  );
});

it.each([
  ["jobs?inputContains=tea", undefined],
  ["jobs?deduplicationKey=tea", undefined],
  ["plans/redrive", { filter: { deduplicationKey: ["tea"] } }],
  ["plans/redrive/run", { filter: { deduplicationKey: ["tea"] }, before: "2040-01-01T00:00:00Z" }],
])("does not look for text for those who may not see payloads: %s", async (path, body) => {
  const { read, act } = await openShop(rights.filter((right) => right !== "payloads"));
  const answer = await (body === undefined ? read(path) : act(path, body));
  expect([answer.status, answer.body.error.message]).toEqual([
    403,
    expect.stringContaining('needs the right "payloads"'),
  ]);
});

it("says how far it has searched, where there is more to look at", async () => {
  const { leasehold, read } = await openWithOrders(["read", "payloads"]);
  const first = (await leasehold.jobs.list({ order: "oldest" })).jobs[0]!;
  const { body } = await read("jobs?order=oldest&inputContains=tea&limit=1");
  expect(body).toMatchObject({ jobs: [{ id: first.id }], searchedTo: first.createdAt.toISOString() });
  expect(body.cursor).toEqual(expect.any(String));
});

it("does not take a text for a plan: what is hidden could be found out by it", async () => {
  const { act } = await openShop(rights);
  const { status, body } = await act("plans/cancel", { filter: { inputContains: "tea" } });
  expect([status, body.error.message]).toEqual([400, '"inputContains" is not known here.']);
});
