// Express: the worker in the process of the server, and one signal that stops both.
import express, { type Express } from "express";
import type { Server } from "node:http";
import { type RunningWorker, stopOnSignals } from "leasehold";
import { type AppLeasehold, defineWorker } from "./jobs.ts";

export const createApp = (leasehold: AppLeasehold): Express => {
  // #region express
  const app = express();
  app.use(express.json());
  app.post("/orders", async (request, response) => {
    const { orderId } = request.body as { orderId: string };
    const { id } = await leasehold.startJobSequence({ typeName: "send-receipt", input: { orderId } });
    response.status(202).json({ id });
  });
  // #endregion
  return app;
};

// #region express-serve
export const serve = async (leasehold: AppLeasehold, port: number): Promise<[Server, RunningWorker]> => {
  const server = createApp(leasehold).listen(port);
  const worker = await defineWorker(leasehold).start();
  stopOnSignals(worker, {
    onStopped: async () => {
      await new Promise((resolve) => server.close(resolve));
      await leasehold.close();
    },
  });
  return [server, worker];
};
// #endregion
