import { describe, expect, it } from "vitest";
import { createDashboard } from "../create-dashboard.ts";
import { routes } from "../routes/index.ts";
import { openShop, postHeaders } from "../testing/open-shop.ts";
import { type Right, rights } from "./rights.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const;

const paths = [...new Set(routes.map(({ path }) => path))];

const addressOf = (path: string): string => `api/v1/${path.replaceAll(/:\w+/g, "x")}`;

const initOf = (method: string): RequestInit =>
  method === "GET" || method === "HEAD" ? { method } : { method, headers: postHeaders, body: "{}" };

describe("who may ask for what", () => {
  it("refuses every request without an authorization", async () => {
    for (const nobody of [
      null,
      undefined,
      false,
      {},
      { user: "x" },
      { user: "", can: ["read"] },
      "grace",
      1,
    ]) {
      const { ask } = await openShop([], { authorize: () => nobody as never });
      for (const path of ["", "assets/x.js", "api/openapi.json", ...paths.map(addressOf)]) {
        const { status } = await ask(path);
        expect(status, `${JSON.stringify(nobody)} ${path}`).toBe(401);
      }
    }
  });

  it("requires the option authorize", async () => {
    const { leasehold, stateAdapter } = await openShop([]);
    expect(() => createDashboard({ leasehold, stateAdapter } as never)).toThrow(
      expect.objectContaining({ code: "InvalidOption", option: "authorize" }),
    );
  });

  it("answers what is declared, to those who have the right, and nothing else", async () => {
    const holders: (readonly Right[])[] = [[], ...rights.map((right) => ["read", right] as const)];
    for (const can of holders) {
      const { ask } = await openShop(can);
      for (const path of paths) {
        for (const method of methods) {
          const declared = routes.find((route) => route.path === path && route.method === method);
          const { status } = await ask(addressOf(path), initOf(method));
          const label = `${can.join("+")} ${method} ${path}`;
          if (declared === undefined) expect(status, label).toBe(405);
          else if (can.includes("read") && can.includes(declared.needs)) expect(status, label).not.toBe(403);
          else expect(status, label).toBe(403);
        }
      }
    }
  });

  it("refuses every action where it is only for reading", async () => {
    const { ask } = await openShop(rights, { readOnly: true });
    for (const { path, method } of routes) {
      const { status } = await ask(addressOf(path), initOf(method));
      if (method === "POST") expect(status, path).toBe(403);
      else expect(status, path).not.toBe(403);
    }
  });

  it("takes `true` for an anonymous user who may read, without payloads", async () => {
    const { leasehold, read, act } = await openShop([], { authorize: () => true });
    const { id } = await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
    const { body } = await read(`jobs/${id}`);
    expect(body.job.input).toEqual({ $hidden: "object with 1 fields" });
    expect((await act("plans/cancel", { ids: [id] })).status).toBe(403);
  });
});

describe("requests that others make a browser send", () => {
  const plan = { ids: ["x"] };
  it.each([
    ["from another site", { "sec-fetch-site": "cross-site" }, 403],
    ["from a sister site", { "sec-fetch-site": "same-site" }, 403],
    ["typed into the address bar", { "sec-fetch-site": "none" }, 403],
    ["from another origin, by an old browser", { origin: "http://evil.example", host: "localhost" }, 403],
    ["from nowhere", { origin: "null", host: "localhost" }, 403],
    ["without the header", { "x-leasehold": "" }, 403],
    ["as a form", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["as plain text", { "content-type": "text/plain" }, 415],
    ["from the page itself", { "sec-fetch-site": "same-origin" }, 200],
    ["from the page itself, by an old browser", { origin: "http://localhost", host: "localhost" }, 200],
    ["by no browser", {}, 200],
  ])("%s", async (_name, headers, expected) => {
    const { act } = await openShop(rights);
    expect((await act("plans/cancel", plan, headers)).status).toBe(expected);
  });

  it("reaches the page only under the names it has", async () => {
    const { ask } = await openShop(["read"], { allowedHosts: ["jobs.example"] });
    const statusFor = async (host: string): Promise<number> =>
      (await ask("api/v1/session", { headers: { host } })).status;
    expect(await statusFor("jobs.example")).toBe(200);
    expect(await statusFor("JOBS.example:8080")).toBe(200);
    expect(await statusFor("evil.example")).toBe(403);
    expect(await statusFor("jobs.example.evil.example")).toBe(403);
  });
});

describe("requests that make no sense", () => {
  it.each([
    "api/v1/jobs?limit=201",
    "api/v1/jobs?limit=-1",
    "api/v1/jobs?limit=1e3",
    "api/v1/jobs?limit=10&limit=20",
    "api/v1/jobs?status=lost",
    "api/v1/jobs?staus=failed",
    "api/v1/jobs?__proto__=1",
    "api/v1/jobs?createdFrom=yesterday",
    "api/v1/jobs?createdFrom=2040-01-01",
    "api/v1/jobs/%E0%A4%A",
    "api/v1/%",
  ])("%s is refused", async (path) => {
    const { ask } = await openShop(["read"]);
    const { status, body } = await ask(path);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: "bad_request", message: expect.any(String) });
  });

  it.each(["api/v1/nothing", "api/v2/jobs", "assets/..%2f..%2fpackage.json"])(
    "%s does not exist",
    async (path) => {
      const { ask } = await openShop(["read"]);
      expect((await ask(path)).status).toBe(404);
    },
  );

  it.each(["api/v1/../../package.json", "..%2fpackage.json", "package.json"])(
    "%s is no file of the page, so the page itself says that there is no such thing",
    async (path) => {
      const { ask } = await openShop(["read"]);
      const { body, headers } = await ask(path);
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(body).toContain('<div id="app">');
    },
  );

  it.each([
    ["no JSON", "{", 400],
    ["a list", "[]", 400],
    ["unknown fields", '{"ids":["x"],"all":true}', 400],
    ["neither ids nor a filter", "{}", 400],
    ["both", '{"ids":["x"],"filter":{}}', 400],
    ["too many ids", JSON.stringify({ ids: Array.from({ length: 1_001 }, () => "x") }), 400],
    ["too much", JSON.stringify({ ids: ["x".repeat(70_000)] }), 413],
  ])("a body with %s is refused", async (_name, body, expected) => {
    const { ask } = await openShop(rights);
    const { status } = await ask("api/v1/plans/redrive", { method: "POST", headers: postHeaders, body });
    expect(status).toBe(expected);
  });
});

it("sends the same protective headers with every answer, and none for other sites", async () => {
  const { ask } = await openShop(["read"]);
  for (const path of ["", "api/v1/session", "api/v1/nothing", "api/openapi.json", "api/v1/%"]) {
    const { headers } = await ask(path);
    expect(headers.get("content-security-policy"), path).toContain("require-trusted-types-for 'script'");
    expect(headers.get("x-content-type-options"), path).toBe("nosniff");
    expect(headers.get("access-control-allow-origin"), path).toBeNull();
    if (path.startsWith("api")) expect(headers.get("cache-control"), path).toBe("no-store");
  }
});
