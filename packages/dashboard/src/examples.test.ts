import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Dashboard } from "./create-dashboard.ts";
import { rights } from "./http/rights.ts";
import { openShop, postHeaders } from "./testing/open-shop.ts";

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

interface Served {
  readonly origin: string;
  close(): Promise<void>;
}

type Serve = (dashboard: Dashboard) => Promise<Served>;

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Not imported by name: only who runs this test needs the servers. */
const load = async <T>(file: string, name: string): Promise<T> =>
  ((await import(`../examples/${file}.ts`)) as Record<string, T>)[name]!;

const listenWith =
  (file: string, name = "serve") =>
  async (dashboard: Dashboard): Promise<Ask> => {
    const { origin, close } = await (await load<Serve>(file, name))(dashboard);
    closers.push(close);
    return (path, init) => fetch(`${origin}${path}`, { redirect: "manual", ...init });
  };

/** `npm run test:next` runs Next.js itself, which takes minutes. What it calls are functions from a request to a response. */
const callNext = async (dashboard: Dashboard): Promise<Ask> => {
  (await load<(dashboard: Dashboard) => void>("app-dashboard", "useDashboard"))(dashboard);
  return async (path, init) => {
    const handle = await load<(request: Request) => Promise<Response>>("next", init?.method ?? "GET");
    return handle(new Request(`http://localhost${path}`, init));
  };
};

describe.each([
  ["Express", listenWith("express")],
  ["Fastify", listenWith("fastify")],
  ["Hono", listenWith("hono")],
  ["Hono, after a parser", listenWith("hono", "serveAfterParser")],
  ["Next.js", callNext],
  ["node:http", listenWith("node-http")],
])("mounted in %s", (_name, mount) => {
  const open = async () => {
    const shop = await openShop(rights, { basePath: "/ops/jobs" });
    closers.push(() => shop.dashboard.close());
    return { ...shop, ask: await mount(shop.dashboard) };
  };

  it("serves the page and its files under a base path", async () => {
    const { ask } = await open();
    for (const path of ["/ops/jobs", "/ops/jobs/", "/ops/jobs/jobs/some%2Fid"]) {
      const page = await ask(path);
      expect([page.status, page.headers.get("content-type")], path).toEqual([
        200,
        expect.stringContaining("text/html"),
      ]);
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    }
    const html = await (await ask("/ops/jobs/")).text();
    const script = /src="(\/ops\/jobs\/assets\/[^"]+\.js)"/.exec(html)?.[1];
    const file = await ask(script!);
    expect([file.status, file.headers.get("content-type")]).toEqual([
      200,
      expect.stringContaining("javascript"),
    ]);
    await file.body?.cancel();
  });

  it("reads, and acts with a body", async () => {
    const { ask, leasehold } = await open();
    const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
    const read = async (path: string): Promise<Record<string, never>> =>
      (await (await ask(`/ops/jobs/api/v1/${path}`)).json()) as Record<string, never>;
    expect(await read("jobs?status=pending&status=failed")).toMatchObject({ jobs: [{ id }] });
    const act = async (path: string, body: object) => {
      const init = { method: "POST", headers: postHeaders, body: JSON.stringify(body) };
      const answer = await ask(`/ops/jobs/api/v1/${path}`, init);
      return { status: answer.status, body: (await answer.json()) as Record<string, never> };
    };
    const plan = await act("plans/cancel", { ids: [id] });
    expect(plan).toMatchObject({ status: 200, body: { preview: { changed: 1 } } });
    const run = await act("plans/cancel/run", { ids: [id], before: plan.body["before"] });
    expect(run.status).toBe(200);
    await expect.poll(async () => (await leasehold.jobs.get({ id }))?.status).toBe("failed");
    expect((await act("plans/cancel", { ids: id })).status).toBe(400);
    const refused = await ask("/ops/jobs/api/v1/plans/cancel", {
      method: "POST",
      headers: { ...postHeaders, "sec-fetch-site": "cross-site" },
      body: "{}",
    });
    expect(refused.status).toBe(403);
    await refused.body?.cancel();
  });

  it("streams events as they come, until the dashboard is closed", async () => {
    const { ask, leasehold, dashboard } = await open();
    const { status, headers, body } = await ask("/ops/jobs/api/v1/events?topic=backlog");
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const reader = body!.getReader();
    let received = "";
    const readUntil = async (text: string): Promise<void> => {
      while (!received.includes(text)) {
        const { value, done } = await reader.read();
        expect(done, received).toBe(false);
        received += new TextDecoder().decode(value);
      }
    };
    await readUntil("event: backlog");
    await leasehold.startJobSequence({ typeName: "mail", input: { to: "ada" } });
    await readUntil('"typeName":"mail"');
    await dashboard.close();
    while (!(await reader.read()).done);
    expect((await ask("/ops/jobs/api/v1/session")).status).toBe(503);
  });
});

it("is created with the sign-in of the application", async () => {
  const { leasehold, stateAdapter } = await openShop(rights);
  type Create = (options: object, findUser: (cookie: string | null) => Promise<unknown>) => Dashboard;
  const create = await load<Create>("create", "create");
  const users: Record<string, object> = {
    "session=1": { name: "ada", isOperator: true },
    "session=2": { name: "bob", isOperator: false },
  };
  const dashboard = create({ leasehold, stateAdapter }, async (cookie) => users[cookie ?? ""]);
  closers.push(() => dashboard.close());
  const ask = (cookie: string, path: string, init: RequestInit = {}): Promise<Response> =>
    dashboard.fetch(
      new Request(`http://localhost/ops/jobs/api/v1/${path}`, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), cookie },
      }),
    );
  const plan = { method: "POST", headers: postHeaders, body: JSON.stringify({ ids: [] }) };
  expect((await ask("session=3", "session")).status).toBe(401);
  expect((await ask("session=2", "session")).status).toBe(200);
  expect((await ask("session=2", "plans/cancel", plan)).status).toBe(403);
  expect((await ask("session=1", "plans/cancel", plan)).status).not.toBe(403);
});

const root = resolve(import.meta.dirname, "../../..");

const readLines = (path: string): string[] => readFileSync(join(root, path), "utf8").split("\n");

/** The lines between `// #region name` and the next `// #endregion`. */
const readRegion = (file: string, region: string): string => {
  const lines = readLines(file);
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const end = lines.findIndex((line, index) => index > start && line.trim() === "// #endregion");
  const inner = lines.slice(start + 1, end);
  const indent = Math.min(...inner.filter((line) => line.trim() !== "").map((line) => line.search(/\S/)));
  return inner.map((line) => line.slice(indent)).join("\n");
};

it("is documented with the code that runs", () => {
  const page = readLines("docs/dashboard.md").join("\n");
  const snippets = [...page.matchAll(/<!-- code of (\S+)#([a-z-]+) -->\n+```ts\n([\s\S]*?)\n```/g)];
  expect(snippets).toHaveLength(7);
  for (const [, file, region, code] of snippets)
    expect(code, `${file}#${region}`).toBe(readRegion(file!, region!));
});
