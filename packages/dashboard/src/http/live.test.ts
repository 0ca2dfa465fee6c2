import { afterEach, describe, expect, it, vi } from "vitest";
import { openShop } from "../testing/open-shop.ts";
import { createLive, type Live, type LiveOptions } from "./live.ts";

let live: Live | undefined;

afterEach(() => live?.close());

const open = (options: Partial<LiveOptions> & Pick<LiveOptions, "topics">): Live => {
  live = createLive({ intervalMs: 5, explain: () => ({ error: "trouble" }), ...options });
  return live;
};

const never = new AbortController().signal;

const stay = async (): Promise<boolean> => true;

const decoder = new TextDecoder();

const next = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> => {
  const { value } = await reader.read();
  return value === undefined ? undefined : decoder.decode(value);
};

describe("live updates", () => {
  it("look at the store once for all viewers, and not at all without any", async () => {
    const look = vi.fn(async () => ({ looks: look.mock.calls.length }));
    const { open: watch } = open({ topics: { numbers: look } });
    expect(look).not.toHaveBeenCalled();
    const clients = Array.from({ length: 100 }, () => new AbortController());
    const readers = clients.map(({ signal }) => watch(["numbers"], signal, stay).getReader());
    for (const reader of readers) expect(await next(reader)).toBe("retry: 5000\n\n");
    for (const reader of readers)
      expect(await next(reader)).toMatch(/^event: numbers\ndata: \{"looks":\d+\}\n\n$/);
    // A hundred viewers that each caused a look would have caused a hundred.
    expect(look.mock.calls.length).toBeLessThan(50);
    expect(() => watch(["numbers"], never, stay)).toThrow(expect.objectContaining({ status: 503 }));
    for (const client of clients) client.abort();
    await expect.poll(() => live!.viewers).toBe(0);
    const before = look.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(look.mock.calls.length).toBeLessThanOrEqual(before + 1);
  });

  it("keep only the latest state for a viewer who does not read", async () => {
    let count = 0;
    const { open: watch } = open({ topics: { numbers: async () => (count += 1) } });
    const reader = watch(["numbers"], never, stay).getReader();
    await next(reader);
    await expect.poll(() => count).toBeGreaterThan(10);
    const first = Number(/data: (\d+)/.exec((await next(reader)) ?? "")?.[1]);
    expect(first).toBeGreaterThan(10);
  });

  it("say nothing while nothing changes, and that they are alive", async () => {
    const { open: watch } = open({ topics: { calm: async () => "calm" }, keepAliveMs: 20 });
    const reader = watch(["calm"], never, stay).getReader();
    await next(reader);
    expect(await next(reader)).toContain('data: "calm"');
    expect(await next(reader)).toBe(":\n\n");
  });

  it("read a new topic at once, however slow the others are", async () => {
    const { open: watch } = open({
      intervalMs: 60_000,
      topics: { stuck: () => new Promise(() => undefined), quick: async () => "quick" },
    });
    watch(["stuck"], never, stay);
    const reader = watch(["quick"], never, stay).getReader();
    await next(reader);
    expect(await next(reader)).toContain('data: "quick"');
  });

  it("drop the state of a topic without viewers, so that the next viewer gets a new one", async () => {
    let count = 0;
    const { open: watch } = open({
      intervalMs: 60_000,
      topics: { numbers: async () => (count += 1), other: async () => "other" },
    });
    watch(["other"], never, stay);
    for (const look of [1, 2]) {
      const client = new AbortController();
      const reader = watch(["numbers"], client.signal, stay).getReader();
      await next(reader);
      expect(await next(reader)).toContain(`data: ${look}`);
      client.abort();
    }
  });

  it("end when the viewer loses the right to read", async () => {
    const { open: watch } = open({ topics: { calm: async () => "calm" }, recheckMs: 10 });
    const reader = watch(["calm"], never, async () => false).getReader();
    await next(reader);
    await next(reader);
    expect(await next(reader)).toBeUndefined();
    expect(live!.viewers).toBe(0);
  });

  it("do not stay open for a viewer who was gone before", async () => {
    const { open: watch } = open({ topics: { calm: async () => "calm" } });
    const reader = watch(["calm"], AbortSignal.abort(), stay).getReader();
    expect(await next(reader)).toBeUndefined();
    expect(live!.viewers).toBe(0);
  });

  it("report a store that cannot be reached, and continue when it can", async () => {
    let isDown = true;
    const { open: watch } = open({
      topics: {
        numbers: async () => {
          if (isDown) throw new Error("secret address of the database");
          return "up";
        },
      },
    });
    const reader = watch(["numbers"], never, stay).getReader();
    await next(reader);
    const trouble = await next(reader);
    expect(trouble).toContain('data: {"error":"trouble"}');
    expect(trouble).not.toContain("secret");
    isDown = false;
    expect(await next(reader)).toContain('"up"');
  });
});

it("streams the backlog through the dashboard to those who may read", async () => {
  const { leasehold, dashboard, ask } = await openShop(["read"]);
  expect((await ask("api/v1/events")).status).toBe(400);
  expect((await ask("api/v1/events?topic=nothing")).status).toBe(400);
  await leasehold.startJobSequence({ typeName: "order", input: { item: "tea" } });
  const response = await dashboard.fetch(new Request("http://localhost/api/v1/events?topic=backlog"));
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const reader = response.body!.getReader();
  expect(await next(reader)).toBe("retry: 5000\n\n");
  expect(await next(reader)).toContain('"runnable":1');
  await dashboard.close();
  expect(await next(reader)).toBeUndefined();
});
