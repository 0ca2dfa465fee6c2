import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Decides on what a client sends, read as text, and on which connection: the same object for all its requests. */
export type RequestMatch = (request: string, connection: object) => boolean;

/** A proxy between a client and a server that loses requests or replies on demand. */
export interface TcpProxy {
  readonly port: number;
  /** The server's address with this port instead. */
  readonly url: string;
  /** Connections that are open at the moment. */
  readonly connections: number;
  /** Resets every connection. */
  cut(): void;
  /** From now on nothing passes in either direction, and no connection is closed: the other end has silently disappeared. */
  blackHole(): void;
  /** Connections made from now on pass again. Those in the black hole stay there. */
  heal(): void;
  /** Whether connections are accepted at all. */
  refuse(refusing: boolean): void;
  /** Resets the connection instead of passing on the next request that matches. Resolves when that has happened. */
  loseRequest(matches: RequestMatch): Promise<void>;
  /** Passes on the next request that matches, and resets the connection instead of passing on the complete reply. */
  loseReply(matches: RequestMatch): Promise<void>;
  close(): Promise<void>;
}

interface Loss {
  readonly of: "request" | "reply";
  readonly matches: RequestMatch;
  readonly done: () => void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  isLost: boolean;
  /** The client has asked for what there is so far; the reply proper is still to come. */
  isFlushing: boolean;
  losing: Loss | undefined;
}

const flush = Buffer.from([0x48, 0, 0, 0, 4]);
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5]);

const endsInFlush = (data: Buffer): boolean => data.subarray(-flush.length).equals(flush);

/** PostgreSQL ends every reply with this and one byte, the state of the transaction; by then it has committed. */
const endsReply = (data: Buffer): boolean => data.subarray(-6, -1).equals(readyForQuery);

export const startTcpProxy = async (targetUrl: string): Promise<TcpProxy> => {
  const target = new URL(targetUrl);
  const pairs = new Set<Pair>();
  let isBlackHole = false;
  let isRefusing = false;
  let losses: Loss[] = [];

  const reset = (pair: Pair): void => {
    pairs.delete(pair);
    for (const socket of [pair.client, pair.server]) {
      if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
    }
  };

  const takeLoss = (request: string, connection: object): Loss | undefined => {
    const loss = losses.find(({ matches }) => matches(request, connection));
    losses = losses.filter((other) => other !== loss);
    return loss;
  };

  const passOn = (pair: Pair): void => {
    pair.client.on("data", (data) => {
      if (pair.isLost) return;
      const loss = losses.length > 0 ? takeLoss(data.toString("latin1"), pair) : undefined;
      if (loss?.of === "request") {
        reset(pair);
        loss.done();
        return;
      }
      if (loss !== undefined) pair.losing = loss;
      pair.isFlushing = endsInFlush(data);
      pair.server.write(data);
    });
    pair.server.on("data", (data) => {
      if (pair.isLost) return;
      if (pair.losing === undefined || pair.isFlushing) {
        pair.client.write(data);
      } else if (endsReply(data)) {
        reset(pair);
        pair.losing.done();
      }
    });
    // In a black hole nobody learns that the other side has gone.
    const close = (other: Socket) => (): void => {
      if (pair.isLost) return;
      pairs.delete(pair);
      other.destroy();
    };
    pair.client.on("close", close(pair.server));
    pair.server.on("close", close(pair.client));
  };

  const proxy = createServer((client) => {
    if (isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(Number(target.port), target.hostname);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
    }
    const pair: Pair = { client, server, isLost: isBlackHole, isFlushing: false, losing: undefined };
    pairs.add(pair);
    passOn(pair);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  const { port } = proxy.address() as AddressInfo;
  const url = new URL(targetUrl);
  url.port = String(port);

  const lose = (of: Loss["of"], matches: RequestMatch): Promise<void> =>
    new Promise((done) => {
      losses.push({ of, matches, done });
    });

  return {
    port,
    url: url.href,
    get connections() {
      return pairs.size;
    },
    cut: () => {
      for (const pair of pairs) reset(pair);
    },
    blackHole: () => {
      isBlackHole = true;
      for (const pair of pairs) pair.isLost = true;
    },
    heal: () => {
      isBlackHole = false;
    },
    refuse: (refusing) => {
      isRefusing = refusing;
    },
    loseRequest: (matches) => lose("request", matches),
    loseReply: (matches) => lose("reply", matches),
    close: () =>
      new Promise((resolve) => {
        for (const pair of pairs) reset(pair);
        proxy.close(() => resolve());
      }),
  };
};
