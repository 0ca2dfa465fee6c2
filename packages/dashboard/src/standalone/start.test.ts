import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";
import { get } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { type StandaloneDashboard, startDashboard } from "./start.ts";

let running: StandaloneDashboard | undefined;

afterEach(() => running?.close());

const start = async (options: object = {}): Promise<URL> => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<object>() });
  running = await startDashboard({ leasehold, stateAdapter, port: 0, ...options });
  return new URL(running.url);
};

const session = (url: URL, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL("api/v1/session", url), { headers });

describe("a dashboard that is a server of its own", () => {
  it("trades the token of its address for a cookie, and then lets the browser in", async () => {
    const url = await start({ basePath: "/ops/jobs" });
    expect(url.pathname).toBe("/ops/jobs/");
    expect((await session(url)).status).toBe(401);
    const traded = await fetch(url, { redirect: "manual" });
    expect([traded.status, traded.headers.get("location")]).toEqual([303, "/ops/jobs/"]);
    const cookie = traded.headers.get("set-cookie")!;
    expect(cookie).toMatch(/; Max-Age=43200; HttpOnly; SameSite=Strict; Path=\/ops\/jobs$/);
    const answer = await session(url, { cookie: cookie.split(";")[0]! });
    expect(await answer.json()).toMatchObject({ user: "operator", can: expect.arrayContaining(["redrive"]) });
  });

  it("signs in one browser with a token of its own, and tells others what to do", async () => {
    const url = await start();
    const asked = await fetch(url, { redirect: "manual", headers: { "sec-purpose": "prefetch" } });
    expect([asked.status, asked.headers.get("set-cookie")]).toEqual([401, null]);
    const first = await fetch(url, { redirect: "manual" });
    const cookie = first.headers.get("set-cookie")!.split(";")[0]!;
    expect(cookie).not.toContain(url.searchParams.get("token"));
    const second = await fetch(url, { redirect: "manual" });
    expect([second.status, second.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await second.text()).toContain("start it again");
    const again = await fetch(url, { redirect: "manual", headers: { cookie } });
    expect([again.status, again.headers.get("location")]).toEqual([303, "/"]);
    expect((await session(url, { cookie })).status).toBe(200);
    const token = `${cookie.split("=")[0]}=${url.searchParams.get("token")}`;
    expect((await session(url, { cookie: token })).status).toBe(401);
  });

  it("signs in any number of browsers with a token that it was given, also after a restart", async () => {
    const token = "a-token-that-is-long-enough";
    const url = await start({ token });
    const signIn = async (): Promise<string> =>
      (await fetch(url, { redirect: "manual" })).headers.get("set-cookie")!.split(";")[0]!;
    const cookie = await signIn();
    expect(await signIn()).not.toBe(cookie); // a session of its own
    expect(cookie).not.toContain(token);
    await running?.close();
    // The name of the cookie has the port, which is another one here.
    const again = await start({ token });
    const sameCookie = cookie.replace(url.port, again.port);
    expect((await session(again, { cookie: sameCookie })).status).toBe(200);
  });

  it("has a cookie of its own for each port, so that two on one machine do not sign each other out", async () => {
    const cookieOf = async (url: URL): Promise<string> =>
      (await fetch(url, { redirect: "manual" })).headers.get("set-cookie")!.split(";")[0]!;
    const url = await start();
    const first = running!;
    try {
      const cookies = [await cookieOf(url), await cookieOf(await start())];
      expect(new Set(cookies.map((cookie) => cookie.split("=")[0])).size).toBe(2);
      expect((await session(url, { cookie: cookies.join("; ") })).status).toBe(200);
    } finally {
      await first.close();
    }
  });

  it.each(["?token=wrong", "?token=", ""])("does not let in who comes with %s", async (query) => {
    const url = await start();
    const answer = await fetch(new URL(query === "" ? "/" : `/${query}`, url), { redirect: "manual" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("set-cookie")).toBeNull();
  });

  it("trusts a proxy that names people, if it is told to", async () => {
    const url = await start({ userHeader: "x-user" });
    expect(url.search).toBe("");
    expect((await session(url)).status).toBe(401);
    expect(await (await session(url, { "x-user": "grace" })).json()).toMatchObject({ user: "grace" });
  });

  it("is reached under other names that it was told, as behind a proxy, and under no others", async () => {
    const url = await start({ userHeader: "x-user", allowedHosts: ["ops.example.com"] });
    const ask = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { host, "x-user": "ann" };
        const request = get(new URL("api/v1/session", url), { headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        request.once("error", reject);
      });
    expect([await ask("ops.example.com"), await ask("localhost"), await ask("evil.example")]).toEqual([
      200, 200, 403,
    ]);
  });

  it("is served behind a proxy that removes the path", async () => {
    const url = await start({ basePath: "/ops", mountPath: "" });
    expect(url.pathname).toBe("/ops/");
    const behind = new URL(`/${url.search}`, url);
    const traded = await fetch(behind, { redirect: "manual" });
    expect([traded.status, traded.headers.get("location")]).toEqual([303, "/ops/"]);
  });

  it("tells a person who is not signed in what to do, and a program in JSON", async () => {
    const asPerson = { headers: { accept: "text/html" } };
    const once = await start();
    const page = await fetch(new URL("/jobs", once), asPerson);
    expect([page.status, page.headers.get("content-type")]).toEqual([401, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toContain("form-action 'none'");
    expect(await page.text()).toContain("Open the address that <code>leasehold dashboard</code> has printed");
    expect(await (await fetch(new URL("/jobs", once))).json()).toMatchObject({
      error: { code: "not_signed_in" },
    });
    await running?.close();
    const often = await start({ token: "a-token-that-is-long-enough" });
    const form = await fetch(new URL("/jobs", often), asPerson);
    expect(form.headers.get("content-security-policy")).toContain("form-action 'self'");
    expect(await form.text()).toContain('<form method="post" action="/sign-in">');
  });

  it("shows several stores, each below a path of its own, with one sign-in", async () => {
    const openStore = async () => {
      const stateAdapter = createInProcessStateAdapter();
      const leasehold = await createLeasehold({
        stateAdapter,
        jobTypes: defineUnionJobTypes<{ greet: { input: null; output: null } }>(),
      });
      return { leasehold, stateAdapter };
    };
    const [production, staging] = [await openStore(), await openStore()];
    const { id } = await staging.leasehold.startJobSequence({ typeName: "greet", input: null });
    running = await startDashboard({
      port: 0,
      basePath: "/ops",
      stores: [
        { path: "production", environment: { label: "production", tone: "danger" }, ...production },
        { path: "staging", environment: { label: "staging", tone: "neutral" }, ...staging },
      ],
    });
    const url = new URL(running.url);
    const cookie = (await fetch(url, { redirect: "manual" })).headers.get("set-cookie")!.split(";")[0]!;
    const ask = async (path: string): Promise<Response> =>
      fetch(new URL(path, url), { headers: { cookie }, redirect: "manual" });
    expect((await ask("/ops/")).headers.get("location")).toBe("/ops/production/");
    expect(await (await ask("/ops/staging/api/v1/session")).json()).toMatchObject({
      environment: { label: "staging" },
      signOutPath: "/ops/sign-out",
      stores: [
        { label: "production", tone: "danger", path: "/ops/production", isThis: false },
        { label: "staging", tone: "neutral", path: "/ops/staging", isThis: true },
      ],
    });
    expect(await (await ask("/ops/staging/api/v1/jobs")).json()).toMatchObject({ jobs: [{ id }] });
    expect(await (await ask("/ops/production/api/v1/jobs")).json()).toMatchObject({ jobs: [] });
    expect((await fetch(new URL("/ops/staging/api/v1/jobs", url))).status).toBe(401);
    expect((await ask("/ops/elsewhere/api/v1/jobs")).status).toBe(404);
    const left = await fetch(new URL("/ops/sign-out", url), { method: "POST", headers: { cookie } });
    expect(left.status).toBe(204);
    expect((await ask("/ops/production/api/v1/session")).status).toBe(401);
  });

  it.each(["0.0.0.0", "192.0.2.1", "::"])(
    "does not listen on %s without a token or a proxy",
    async (host) => {
      await expect(start({ host })).rejects.toMatchObject({ code: "InvalidOption", option: "host" });
    },
  );

  it("refuses a token that is easy to guess", async () => {
    await expect(start({ token: "secret" })).rejects.toMatchObject({
      code: "InvalidOption",
      option: "token",
    });
  });

  it("rejects when the port is taken", async () => {
    const url = await start();
    const first = running;
    await expect(start({ port: Number(url.port) })).rejects.toMatchObject({ code: "EADDRINUSE" });
    running = first;
  });

  it("acts for the page, with a body", async () => {
    const url = await start();
    const traded = await fetch(url, { redirect: "manual" });
    const headers = {
      cookie: traded.headers.get("set-cookie")!.split(";")[0]!,
      "content-type": "application/json",
      "x-leasehold": "1",
      origin: url.origin,
    };
    const address = new URL("api/v1/plans/redrive", url);
    const plan = await fetch(address, { method: "POST", headers, body: '{"filter":{}}' });
    expect(await plan.json()).toMatchObject({ preview: { changed: 0, isExact: true } });
    const foreign = await fetch(address, {
      method: "POST",
      headers: { ...headers, origin: "http://evil.example" },
      body: "{}",
    });
    expect(foreign.status).toBe(403);
  });
});
