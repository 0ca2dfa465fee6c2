// A network between the measured processes and PostgreSQL: a proxy on loopback that passes on requests late.
import { connect, createServer } from "node:net";

/**
 * Requests that are sent together arrive together, and each round trip takes `delayMs` longer.
 * @param {string} targetUrl
 * @param {number} delayMs
 */
export const startDelay = async (targetUrl, delayMs) => {
  const { port, hostname } = new URL(targetUrl);
  const sockets = new Set();
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on("data", (data) => setTimeout(() => server.write(data), delayMs));
    server.on("data", (data) => client.write(data));
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    /** The same database, through the proxy. */
    delayed: (url) => {
      const through = new URL(url);
      through.port = String(proxy.address().port);
      return through.href;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
};
