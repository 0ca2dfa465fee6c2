import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { routes } from "../routes/index.ts";
import { serve } from "../testing/browser.ts";
import { openShop, postHeaders } from "../testing/open-shop.ts";
import { rights } from "./rights.ts";

const addressOf = (path: string): string => `api/v1/${path.replaceAll(/:\w+/g, "x")}`;

const acting = routes.filter(({ method }) => method === "POST");

const reading = routes.filter(({ method }) => method === "GET");

const json = "application/json";

const large = JSON.stringify({ ids: ["x".repeat(70_000)] });

const disguises: readonly [string, Record<string, string>, string, number][] = [
  ["from another site", { "sec-fetch-site": "cross-site" }, "{}", 403],
  ["from a sister site", { "sec-fetch-site": "same-site" }, "{}", 403],
  ["from another origin", { origin: "http://evil.example", host: "localhost" }, "{}", 403],
  ["from no origin", { origin: "null", host: "localhost" }, "{}", 403],
  ["from the same name at another port", { origin: "http://localhost:1", host: "localhost:2" }, "{}", 403],
  ["without the header", { "x-leasehold": "" }, "{}", 403],
  ["as a form", { "content-type": "application/x-www-form-urlencoded" }, "a=b", 415],
  ["as a form with files", { "content-type": "multipart/form-data; boundary=a" }, "--a--", 415],
  ["as plain text", { "content-type": "text/plain" }, "{}", 415],
  ["as plain text that names JSON", { "content-type": `text/plain; ${json}` }, "{}", 415],
  ["without a type", { "content-type": "" }, "{}", 415],
  ["too large", {}, large, 413],
  ["with a list", {}, "[]", 400],
  ["with half of it", {}, "{", 400],
  ["with a text", {}, '"text"', 400],
  ["with something unknown", {}, '{"surplus":true}', 400],
  ["with a prototype", {}, '{"__proto__":{"can":["delete"]}}', 400],
];

describe("every route that acts", () => {
  it.each(disguises)("refuses a request %s", async (_name, headers, body, expected) => {
    const { ask } = await openShop(rights);
    for (const { path } of acting) {
      const init = { method: "POST", headers: { ...postHeaders, ...headers }, body };
      const answer = await ask(addressOf(path), init);
      expect(answer.status, path).toBe(expected);
      expect(answer.body.error, path).toMatchObject({
        code: expect.any(String),
        message: expect.any(String),
      });
    }
  });

  it("writes nothing of what it refuses into the log", async () => {
    const { ask, read } = await openShop(rights);
    for (const { path } of acting)
      await ask(addressOf(path), {
        method: "POST",
        headers: { ...postHeaders, "x-leasehold": "" },
        body: "{}",
      });
    expect((await read("actions")).body.actions).toEqual([]);
  });
});

describe("every route that reads", () => {
  it.each(["surplus=1", "__proto__=1", "constructor=1", "limit=1&limit=2&surplus=1"])(
    "refuses ?%s",
    async (query) => {
      const { ask } = await openShop(["read"]);
      for (const { path } of reading) {
        const answer = await ask(`${addressOf(path)}?${query}`);
        expect(answer.status, path).toBe(400);
      }
    },
  );

  it("refuses a parameter that is there twice, unless it is a list", async () => {
    const { ask } = await openShop(rights);
    for (const { path, query } of reading) {
      for (const [name, { isList }] of Object.entries(query)) {
        if (isList) continue;
        const answer = await ask(`${addressOf(path)}?${name}=1&${name}=1`);
        expect(answer, `${path} ${name}`).toMatchObject({
          status: 400,
          body: { error: { message: `"${name}" is there more than once.` } },
        });
      }
    }
  });

  it.each(["%00", "x".repeat(5_000), "..%2f..", "%2e%2e%2fjobs", "%ff", "'; DROP TABLE job; --"])(
    "finds nothing at %s, and does not fail",
    async (id) => {
      const { ask } = await openShop(rights);
      for (const { path } of reading.filter((route) => route.path.includes(":"))) {
        const { status } = await ask(`api/v1/${path.replaceAll(/:\w+/g, id)}`);
        expect([400, 404], path).toContain(status);
      }
    },
  );
});

describe("rights", () => {
  it("are worth nothing without the right to read", async () => {
    const { ask } = await openShop(rights.filter((right) => right !== "read"));
    for (const path of ["api/openapi.json", "api/v1/events?topic=backlog"])
      expect((await ask(path)).status, path).toBe(403);
    for (const { path, method } of routes) {
      const init = method === "GET" ? {} : { method, headers: postHeaders, body: "{}" };
      expect((await ask(addressOf(path), init)).status, path).toBe(403);
    }
  });

  it("are asked for again with every request", async () => {
    let isIn = true;
    const { ask } = await openShop([], { authorize: () => isIn && { user: "grace", can: ["read"] } });
    expect((await ask("api/v1/session")).status).toBe(200);
    isIn = false;
    expect((await ask("api/v1/session")).status).toBe(401);
  });

  it("are none if authorize fails, and its error stays on the server", async () => {
    const { ask } = await openShop([], {
      authorize: () => {
        throw new Error("secret address of the directory");
      },
    });
    for (const path of ["", "api/v1/session", "api/v1/events?topic=backlog"]) {
      const { status, body } = await ask(path);
      expect(status, path).toBe(500);
      expect(JSON.stringify(body), path).not.toContain("secret");
    }
  });

  it("to see payloads are needed to filter by a key, and to see the key of another user's filter", async () => {
    const shop = await openShop(["read", "redrive"]);
    const { leasehold, stateAdapter, read, act } = shop;
    const filter = { deduplicationKey: ["secret-key"] };
    expect((await read("jobs?deduplicationKey=secret-key")).status).toBe(403);
    expect((await act("plans/redrive", { filter })).status).toBe(403);
    const before = (await leasehold.getTime()).toISOString();
    expect((await act("plans/redrive/run", { filter, before })).status).toBe(403);
    const all = await openShop(rights, {}, stateAdapter);
    expect((await all.read("jobs?deduplicationKey=secret-key")).status).toBe(200);
    const { id } = (await all.act("plans/redrive/run", { filter, before })).body;
    for (const path of ["actions", `actions/${id}`]) {
      expect(JSON.stringify((await all.read(path)).body), path).toContain("secret-key");
      expect(JSON.stringify((await read(path)).body), path).not.toContain("secret-key");
    }
  });
});

describe("over a socket", () => {
  let origin: URL;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const { dashboard } = await openShop(rights);
    const server = await serve(dashboard);
    origin = new URL(server.origin);
    close = server.close;
    // The first request for the page loads it. The clients below do not wait: they close their side at once.
    await (await fetch(origin)).text();
  });
  afterAll(() => close());

  /** What a client sends that does not tidy its addresses. */
  const send = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(origin.port), origin.hostname, () => socket.end(text));
      let answer = "";
      socket.on("data", (chunk) => (answer += chunk.toString()));
      socket.once("error", reject);
      socket.once("close", () => resolve(answer));
    });

  it.each([
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/assets/../../../package.json",
    "/assets/..%2f..%2f..%2fpackage.json",
    "/assets/..%5c..%5cpackage.json",
    "//etc/passwd",
    "/assets//etc/passwd",
    "http://evil.example/etc/passwd",
    "/api/v1/..%2f..%2f..%2fetc%2fpasswd",
  ])("%s leads to no file but the page's own", async (path) => {
    const answer = await send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (200|400|404) /);
    expect(answer).not.toMatch(/root:|"name":/);
    if (answer.startsWith("HTTP/1.1 200")) expect(answer).toContain('<div id="app">');
  });

  it.each([
    ["OPTIONS * HTTP/1.1", 405],
    ["TRACE / HTTP/1.1", 400],
    ["DELETE /api/v1/jobs HTTP/1.1", 405],
    ["GET /% HTTP/1.1", 400],
  ])("%s is refused", async (line, expected) => {
    const answer = await send(`${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${expected} `));
  });

  it("reads no more than 64 kB of a body of unknown length", async () => {
    const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
    const answer = await send(
      `POST /api/v1/plans/cancel HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: ${json}\r\nX-Leasehold: 1\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(8)}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });
});
