import { type Dashboard, toNodeListener } from "@leasehold/dashboard";
import express from "express";
import { listening, type Served } from "./served.ts";

export const serve = async (dashboard: Dashboard): Promise<Served> => {
  // #region express
  const app = express();
  app.use(express.json()); // parsers may come before
  app.use("/ops/jobs", toNodeListener(dashboard));
  // #endregion
  return listening(app.listen(0, "127.0.0.1"));
};
