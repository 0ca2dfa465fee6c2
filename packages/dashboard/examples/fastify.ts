import { type Dashboard, toNodeListener } from "@leasehold/dashboard";
import Fastify from "fastify";
import { listening, type Served } from "./served.ts";

export const serve = async (dashboard: Dashboard): Promise<Served> => {
  // #region fastify
  const app = Fastify();
  const listener = toNodeListener(dashboard);
  for (const url of ["/ops/jobs", "/ops/jobs/*"]) {
    app.all(url, async ({ raw, body }, reply) => {
      reply.hijack();
      await listener(Object.assign(raw, { body }), reply.raw); // Fastify has read the body
    });
  }
  // #endregion
  await app.listen({ port: 0, host: "127.0.0.1" });
  return listening(app.server);
};
