// A Fastify plugin: decorates the application with the Leasehold, starts the worker when it is ready, stops it on close.
import fastify, { type FastifyInstance } from "fastify";
import fastifyPlugin from "fastify-plugin";
import { type AppLeasehold, defineWorker, openLeasehold } from "./jobs.ts";

// #region fastify
declare module "fastify" {
  interface FastifyInstance {
    leasehold: AppLeasehold;
  }
}

const leaseholdPlugin = fastifyPlugin(
  async (app: FastifyInstance) => {
    const leasehold = await openLeasehold();
    app.decorate("leasehold", leasehold);
    app.addHook("onReady", async () => {
      await defineWorker(leasehold).start();
    });
    // Stops the worker, too. Requests have ended by then.
    app.addHook("onClose", () => leasehold.close());
  },
  { name: "leasehold" },
);

export const createApp = async (): Promise<FastifyInstance> => {
  const app = fastify();
  await app.register(leaseholdPlugin);
  app.post<{ Body: { orderId: string } }>("/orders", async (request, reply) => {
    const { orderId } = request.body;
    const { id } = await app.leasehold.startJobSequence({ typeName: "send-receipt", input: { orderId } });
    return reply.code(202).send({ id });
  });
  return app;
};
// #endregion
