import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { toNodeListener } from "./node-listener.ts";
import { openShop } from "./testing/open-shop.ts";

/** A certificate for this machine, made for one test. */
const makeCertificate = (): { readonly key: Buffer; readonly cert: Buffer } => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-tls-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  const name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...kind, ...name, "-keyout", key, "-out", cert], {
    stdio: "pipe",
  });
  const made = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return made;
};

it.each(["http", "https"])("answers over HTTP/2 by %s, and checks the host there, too", async (protocol) => {
  const { dashboard } = await openShop(["read"], { allowedHosts: ["127.0.0.1"] });
  const answer = toNodeListener(dashboard);
  const listener = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): void =>
    void answer(request, response);
  const certificate = protocol === "https" ? makeCertificate() : undefined;
  const server =
    certificate === undefined
      ? http2.createServer(listener)
      : http2.createSecureServer(certificate, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = http2.connect(`${protocol}://127.0.0.1:${port}`, { ca: certificate?.cert });
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
    // A stream arrives as it comes, and ends with the dashboard.
    const stream = client.request({ ":path": "/api/v1/events?topic=backlog" });
    const [first] = (await once(stream, "data")) as [Buffer];
    expect(first.toString()).toContain("retry:");
    await dashboard.close();
    await text(stream);
  } finally {
    client.close();
    server.close();
    await dashboard.close();
  }
});
