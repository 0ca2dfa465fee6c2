// Hono: a typed variable with the Leasehold. The same application runs on Node.js, Bun, Deno and serverless platforms.
import { Hono } from "hono";
import { type AppLeasehold, defineWorker } from "./jobs.ts";

interface Environment {
  Variables: { leasehold: AppLeasehold };
}

export const createApp = (leasehold: AppLeasehold): Hono<Environment> => {
  // #region hono
  const app = new Hono<{ Variables: { leasehold: AppLeasehold } }>();
  app.use(async (context, next) => {
    context.set("leasehold", leasehold);
    await next();
  });
  app.post("/orders", async (context) => {
    const { orderId } = await context.req.json<{ orderId: string }>();
    const { id } = await context
      .get("leasehold")
      .startJobSequence({ typeName: "send-receipt", input: { orderId } });
    return context.json({ id }, 202);
  });
  // Where no process keeps running, a timer calls this route instead of a worker that is started.
  app.get("/run-jobs", async (context) =>
    context.json(await defineWorker(context.get("leasehold")).runUntilIdle({ deadlineMs: 20_000 })),
  );
  // #endregion
  return app;
};
