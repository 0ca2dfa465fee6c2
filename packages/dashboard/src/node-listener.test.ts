import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { toNodeListener } from "./node-listener.ts";
import { openShop } from "./testing/open-shop.ts";

it("answers over HTTP/2, and checks the host there, too", async () => {
  const { dashboard } = await openShop(["read"], { allowedHosts: ["127.0.0.1"] });
  const listener = toNodeListener(dashboard);
  const server = http2.createServer((request, response) => void listener(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = http2.connect(`http://127.0.0.1:${port}`);
  const ask = async (headers: Record<string, string>) => {
    const request = client.request({ ":path": "/api/v1/session", ...headers });
    const answered = once(request, "response");
    const body = await text(request);
    const [{ ":status": status }] = (await answered) as [{ ":status": number }];
    return { status, body };
  };
  try {
    const { status, body } = await ask({});
    expect([status, JSON.parse(body)]).toEqual([200, expect.objectContaining({ user: "grace" })]);
    expect((await ask({ ":authority": "evil.example" })).status).toBe(403);
  } finally {
    client.close();
    server.close();
    await dashboard.close();
  }
});
