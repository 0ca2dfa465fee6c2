import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A way to a port of the loopback address that can be cut. */
export interface Link {
  readonly port: number;
  /** From now on nothing passes, and nobody is told: neither side learns that the other is gone. */
  cut(): void;
  /** What was cut off is reset, and new connections pass again. */
  mend(): void;
  close(): Promise<void>;
}

export const openLink = async (targetPort: number): Promise<Link> => {
  const sockets = new Set<Socket>();
  let isCut = false;

  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.setNoDelay(true);
    from.on("error", () => {});
    from.on("data", (data) => {
      if (isCut || to.write(data)) return;
      from.pause();
      to.once("drain", () => from.resume());
    });
    from.on("close", () => {
      sockets.delete(from);
      if (!isCut) to.destroy();
    });
  };

  const server = createServer((client) => {
    if (isCut) {
      sockets.add(client);
      client.on("error", () => {});
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    pass(client, target);
    pass(target, client);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });

  const resetAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };

  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
    },
    mend: () => {
      if (!isCut) return;
      isCut = false;
      resetAll();
    },
    close: () =>
      new Promise((resolve) => {
        resetAll();
        server.close(() => resolve());
      }),
  };
};
