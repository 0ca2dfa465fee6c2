import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { serve } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";
import { allowCompression, chooseEncoding } from "./compress.ts";

/** `fetch` of Node would decompress the answer; the dashboard's own does not. */
const open = async () => {
  const { dashboard, leasehold } = await openShop(["read", "payloads"]);
  const sequences = Array.from({ length: 30 }, () => ({
    typeName: "order" as const,
    input: { item: "a chair of green velvet" },
  }));
  await leasehold.startJobSequences({ sequences });
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const request = allowCompression(new Request(`http://localhost/${path}`, { headers }));
    const response = await dashboard.fetch(request);
    return { headers: response.headers, response };
  };
  return { dashboard, ask };
};

const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

describe.each(["br", "gzip"] as const)("for a client that takes %s", (encoding) => {
  it("compresses the files of the page and long answers", async () => {
    const { ask, dashboard } = await open();
    for (const path of ["", "api/v1/jobs", "api/openapi.json"]) {
      const plain = await bytesOf((await ask(path)).response);
      const { headers, response } = await ask(path, { "accept-encoding": encoding });
      const sent = await bytesOf(response);
      // index.html is short: compressed all the same, since that is done once.
      expect([headers.get("content-encoding"), headers.get("vary")], path).toEqual([
        encoding,
        expect.stringContaining("accept-encoding"),
      ]);
      expect(sent.byteLength).toBeLessThan(plain.byteLength);
      // The answer of the second request has another time in it.
      if (path !== "api/v1/jobs") expect(decoders[encoding](sent).equals(plain), path).toBe(true);
    }
    await dashboard.close();
  });
});

it("compresses on the wire", async () => {
  const { dashboard } = await open();
  const { origin, close } = await serve(dashboard);
  for (const path of ["/", "/api/v1/jobs"]) {
    const response = await fetch(origin + path, { headers: { "accept-encoding": "gzip" } });
    expect([response.headers.get("content-encoding"), response.status], path).toEqual(["gzip", 200]);
    await response.text();
  }
  await dashboard.close();
  await close();
});

it("leaves short answers, event streams and answers to other sites as they are", async () => {
  const { ask, dashboard } = await open();
  const accept = { "accept-encoding": "gzip, br" };
  expect((await ask("api/v1/session", accept)).headers.get("content-encoding")).toBeNull();
  const stream = await ask("api/v1/events?topic=backlog", accept);
  expect(stream.headers.get("content-encoding")).toBeNull();
  await stream.response.body!.cancel();
  // The length of a compressed answer would tell another site whether a text that it sent along occurs in it.
  for (const site of ["cross-site", "same-site"]) {
    const { headers } = await ask("api/v1/jobs?typeName=order", { ...accept, "sec-fetch-site": site });
    expect(headers.get("content-encoding"), site).toBeNull();
  }
  const own = await ask("api/v1/jobs", { ...accept, "sec-fetch-site": "same-origin" });
  expect(own.headers.get("content-encoding")).toBe("br");
  await dashboard.close();
});

it.each([
  ["gzip, deflate, br, zstd", "br"],
  ["gzip", "gzip"],
  ["br;q=0, gzip;q=0.5", "gzip"],
  ["GZIP; q=1.0", "gzip"],
  ["identity", undefined],
  ["br;q=0.000", undefined],
  ["", undefined],
])("of %j chooses %s", (accepted, chosen) => {
  const request = new Request("http://localhost/", { headers: { "accept-encoding": accepted } });
  expect(chooseEncoding(request)).toBeUndefined(); // left to the framework that made the request
  expect(chooseEncoding(allowCompression(request))).toBe(chosen);
});
