import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that listens on a free port of this machine. */
export interface Served {
  readonly origin: string;
  close(): Promise<void>;
}

export const listening = async (server: Server): Promise<Served> => {
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
