import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Dashboard } from "./create-dashboard.ts";
import { allowCompression } from "./http/compress.ts";

/** What Express adds to a request: the complete address, and the body if a middleware has read it. */
interface HandledMessage extends IncomingMessage {
  readonly originalUrl?: string;
  readonly body?: unknown;
}

const bodyOf = (message: HandledMessage): IncomingMessage | string | null => {
  if (message.method === "GET" || message.method === "HEAD") return null;
  if (message.body === undefined) return message;
  return typeof message.body === "string" ? message.body : JSON.stringify(message.body);
};

const toRequest = (message: HandledMessage, signal: AbortSignal): Request => {
  const headers = new Headers();
  for (const [field, value] of Object.entries(message.headers)) {
    // HTTP/2 sends method, path and host as fields that are no headers. A request has either the host or the authority.
    const name = field === ":authority" ? "host" : field;
    if (name.startsWith(":")) continue;
    for (const single of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, single);
  }
  // Only the path is taken from the request. Its host is a header, and is checked as such.
  const path = message.originalUrl ?? message.url ?? "/";
  const url = new URL(`http://localhost${path.startsWith("/") ? path : `/${path}`}`);
  const init = { method: message.method ?? "GET", headers, body: bodyOf(message), signal, duplex: "half" };
  return allowCompression(new Request(url, init as unknown as RequestInit));
};

/** Waits until the client has read what was written, or has disconnected. Leaves no listener: a stream waits here repeatedly. */
const waitForClient = async (target: ServerResponse): Promise<void> => {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(target, "drain", { signal }), once(target, "close", { signal })]);
  } finally {
    over.abort();
  }
};

const send = async (response: Response, target: ServerResponse): Promise<void> => {
  target.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    target.end();
    return;
  }
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    if (target.destroyed) return;
    // For a client that does not read, one chunk waits, not all of them.
    if (!target.write(piece)) await waitForClient(target);
  }
  target.end();
};

/** The dashboard as a listener for `node:http` and `node:http2`, which Express and Fastify take as well. */
export const toNodeListener =
  ({ fetch }: Pick<Dashboard, "fetch">) =>
  async (
    givenMessage: IncomingMessage | Http2ServerRequest,
    givenTarget: ServerResponse | Http2ServerResponse,
  ): Promise<void> => {
    // Node's compatibility classes of HTTP/2 have the same methods; only their declarations differ.
    const message = givenMessage as IncomingMessage;
    const target = givenTarget as ServerResponse;
    const gone = new AbortController();
    target.once("close", () => gone.abort());
    try {
      await send(await fetch(toRequest(message, gone.signal)), target);
    } catch {
      // The address or a header is malformed, or the client has disconnected.
      if (target.headersSent) target.destroy();
      else target.writeHead(400).end();
    }
  };
