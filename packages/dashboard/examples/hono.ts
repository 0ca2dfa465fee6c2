import { serve as listen } from "@hono/node-server";
import type { Dashboard } from "@leasehold/dashboard";
import { Hono } from "hono";
import type { Server } from "node:http";
import { listening, type Served } from "./served.ts";

export const serve = async (dashboard: Dashboard): Promise<Served> => {
  // #region hono
  const app = new Hono();
  app.all("/ops/jobs/*", ({ req }) => dashboard.fetch(req.raw));
  // #endregion
  return listening(listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
};

export const serveAfterParser = async (dashboard: Dashboard): Promise<Served> => {
  const app = new Hono();
  app.use(async ({ req }, next) => {
    if (req.method === "POST") await req.json();
    await next();
  });
  // #region hono-after-parser
  app.all("/ops/jobs/*", async ({ req }) => {
    const { url, method, headers, signal } = req.raw;
    const body = method === "POST" ? await req.text() : null; // Hono keeps what somebody has read
    return dashboard.fetch(new Request(url, { method, headers, signal, body }));
  });
  // #endregion
  return listening(listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
};
