import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createApp as createExpressApp, serve } from "./express.ts";
import { createApp as createFastifyApp } from "./fastify.ts";
import { createApp as createHonoApp } from "./hono.ts";
import { type AppLeasehold, openLeasehold } from "./jobs.ts";

const orderId = "o-1";

const receiptOf = async (leasehold: AppLeasehold, id: string): Promise<string> =>
  (await leasehold.waitForJobSequenceCompletion({ id, typeName: "send-receipt" })).output;

describe("recipes", () => {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  });

  it("Fastify starts and stops the worker with the application", async () => {
    const app = await createFastifyApp();
    await app.ready();
    const response = await app.inject({ method: "POST", url: "/orders", payload: { orderId } });
    expect(response.statusCode).toBe(202);
    const { leasehold } = app;
    expect(await receiptOf(leasehold, response.json<{ id: string }>().id)).toBe("receipt for o-1");
    await app.close();
    await expect(leasehold.getTime()).rejects.toMatchObject({ code: "LeaseholdClosed" });
  });

  it("Express serves requests beside the worker", async () => {
    const leasehold = await openLeasehold();
    const before = process.listeners("SIGTERM");
    const [server, worker] = await serve(leasehold, 0);
    cleanUps.push(
      () => new Promise((resolve) => server.close(resolve)),
      () => leasehold.close(),
      () => {
        for (const signal of ["SIGTERM", "SIGINT"] as const)
          for (const listener of process.listeners(signal))
            if (!before.includes(listener)) process.off(signal, listener);
      },
    );
    if (!server.listening) await once(server, "listening");
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ orderId }),
    });
    expect(response.status).toBe(202);
    expect(await receiptOf(leasehold, ((await response.json()) as { id: string }).id)).toBe(
      "receipt for o-1",
    );
    expect(worker.health().state).toBe("running");
    expect(createExpressApp(leasehold)).toBeTypeOf("function");
  });

  it("Hono runs jobs by a route that a timer calls", async () => {
    const leasehold = await openLeasehold();
    cleanUps.push(() => leasehold.close());
    const app = createHonoApp(leasehold);
    const response = await app.request("/orders", { method: "POST", body: JSON.stringify({ orderId }) });
    expect(response.status).toBe(202);
    const run = await app.request("/run-jobs");
    expect(await run.json()).toMatchObject({ ranJobs: 1, isIdle: true, nextRunnableAt: null });
    expect(await receiptOf(leasehold, ((await response.json()) as { id: string }).id)).toBe(
      "receipt for o-1",
    );
  });
});
