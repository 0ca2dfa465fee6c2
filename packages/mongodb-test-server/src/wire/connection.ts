import type { Socket } from "node:net";
import { isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { runCommand } from "../commands/run-command.ts";
import type { Outcome } from "../commands/run-command.ts";
import type { ServerState } from "../server-state.ts";
import { createFraming } from "./framing.ts";
import { encodeReply, messageFlags, parseIncoming } from "./messages.ts";
import type { IncomingMessage } from "./messages.ts";

const largestMessage = 48_000_000;

const isHello = (name: string): boolean => name === "hello" || name === "isMaster" || name === "ismaster";

/** A hello that knows the present state waits for the next one. */
const waitForTopology = async ({ topology }: ServerState, document: Document): Promise<void> => {
  const known = document["topologyVersion"];
  const wait: Value = document["maxAwaitTimeMS"];
  if (!isDocument(known) || wait === undefined || toNumber(known["counter"]) !== topology.version()) return;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, toNumber(wait));
  });
  await Promise.race([topology.changed(), timeout]);
  clearTimeout(timer);
};

const appNameOf = (document: Document): string | undefined => {
  const client = document["client"];
  const application = isDocument(client) ? client["application"] : undefined;
  return isDocument(application) && typeof application["name"] === "string" ? application["name"] : undefined;
};

/** Answers the messages of one connection, one after the other. */
export const serveConnection = (server: ServerState, socket: Socket): void => {
  const framing = createFraming(largestMessage);
  let last: Promise<void> = Promise.resolve();
  let appName: string | undefined;

  const send = (
    message: IncomingMessage,
    responseTo: number,
    outcome: Outcome,
    moreToCome: boolean,
  ): number => {
    if (outcome === "cut") {
      socket.destroy();
      return 0;
    }
    if ((message.flags & messageFlags.moreToCome) !== 0 || socket.destroyed) return 0;
    const { bytes, requestId } = encodeReply(message, responseTo, outcome, moreToCome);
    socket.write(bytes);
    return requestId;
  };

  const answer = async (message: IncomingMessage): Promise<void> => {
    const { document, database } = message;
    const [name = ""] = Object.keys(document);
    appName ??= isHello(name) ? appNameOf(document) : undefined;
    const run = () => runCommand(server, { name, database, document }, appName);
    if (isHello(name)) await waitForTopology(server, document);
    const streams = isHello(name) && (message.flags & messageFlags.exhaustAllowed) !== 0;
    let outcome = await run();
    let responseTo = send(message, message.requestId, outcome, streams);
    while (streams && !socket.destroyed && outcome !== "cut") {
      // From the state it was told of: one that has changed since is told of at once.
      await waitForTopology(server, { ...document, topologyVersion: outcome["topologyVersion"] });
      outcome = await run();
      responseTo = send(message, responseTo, outcome, true);
    }
  };

  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    try {
      for (const frame of framing.push(bytes)) {
        const message = parseIncoming(frame);
        last = last
          .then(() => answer(message))
          .catch(() => {
            socket.destroy();
          });
      }
    } catch {
      socket.destroy();
    }
  });
};
