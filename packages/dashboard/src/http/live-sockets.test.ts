import { createInProcessStateAdapter } from "leasehold";
import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { expect, it, vi } from "vitest";
import { toNodeListener } from "../node-listener.ts";
import { listen, serve } from "../testing/browser.ts";
import { openShop } from "../testing/open-shop.ts";
import { createLive } from "./live.ts";

const openStream = (origin: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(`${origin}/api/v1/events?topic=backlog`, { agent: false }, resolve).once("error", reject);
  });

const firstState = (stream: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    let heard = "";
    stream.on("data", (chunk: Buffer) => {
      heard += chunk.toString();
      if (heard.includes("event: backlog")) resolve();
    });
  });

it("asks the store for a hundred people as often as for one, and turns away the next", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const measure = vi.spyOn(stateAdapter.statistics, "measureBacklog");
  const { dashboard } = await openShop(["read"], {}, stateAdapter);
  const { origin, close } = await serve(dashboard);
  const streams = await Promise.all(Array.from({ length: 100 }, () => openStream(origin)));
  expect(new Set(streams.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  await Promise.all(streams.map(firstState));
  const startedAt = Date.now();
  const before = measure.mock.calls.length;
  // One read when the first viewer connects, then one every two seconds.
  await expect.poll(() => measure.mock.calls.length, { timeout: 10_000 }).toBeGreaterThan(before + 1);
  expect(measure.mock.calls.length).toBeLessThanOrEqual(3 + (Date.now() - startedAt) / 2_000);
  const refused = await openStream(origin);
  expect(refused.statusCode).toBe(503);
  for (const stream of [...streams, refused]) stream.destroy();
  // A place is free as soon as a viewer has disconnected.
  await expect
    .poll(async () => {
      const next = await openStream(origin);
      next.destroy();
      return next.statusCode;
    })
    .toBe(200);
  await dashboard.close();
  await close();
});

/** A server with a topic that changes all the time, and a client that does not read yet. */
const openRestless = async () => {
  const state = "x".repeat(100_000);
  let looks = 0;
  const live = createLive({
    topics: { backlog: async () => `${(looks += 1)} ${state}` },
    explain: () => ({}),
    intervalMs: 1,
  });
  const stay = async (): Promise<boolean> => true;
  const answer = toNodeListener({
    fetch: async ({ signal }) => new Response(live.open(["backlog"], signal, stay)),
  });
  let target: ServerResponse | undefined;
  const { origin, close } = await listen((message, response) => {
    target = response;
    void answer(message, response);
  });
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await expect.poll(() => target?.writableNeedDrain, { timeout: 10_000 }).toBe(true);
  return {
    live,
    socket,
    target: target!,
    size: state.length,
    looks: () => looks,
    close: async () => {
      socket.destroy();
      await expect.poll(() => live.viewers).toBe(0);
      live.close();
      await close();
    },
  };
};

it("keeps little for a client that never reads, however long it stays", async () => {
  const { target, size, looks, close } = await openRestless();
  const before = looks();
  await expect.poll(looks, { timeout: 10_000 }).toBeGreaterThan(before + 300);
  // Thirty megabytes have come up since. One state waits in the socket, and one for it.
  expect(target.writableLength).toBeLessThan(3 * size);
  await close();
});

it("keeps nothing for a client that reads slowly, whenever it has read", async () => {
  const { socket, target, size, close } = await openRestless();
  let heard = 0;
  socket.on("data", (chunk) => (heard += chunk.length));
  socket.resume();
  await expect.poll(() => heard, { timeout: 10_000 }).toBeGreaterThan(50 * size);
  for (const event of ["close", "drain", "error"]) expect(target.listenerCount(event), event).toBeLessThan(5);
  await close();
});
