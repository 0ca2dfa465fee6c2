import { createServer } from "node:http";
import { type Dashboard, toNodeListener } from "@leasehold/dashboard";
import { listening, type Served } from "./served.ts";

export const serve = async (dashboard: Dashboard): Promise<Served> => {
  // #region node-http
  const listener = toNodeListener(dashboard);
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/ops/jobs")) void listener(request, response);
    else response.writeHead(404).end();
  });
  // #endregion
  return listening(server.listen(0, "127.0.0.1"));
};
