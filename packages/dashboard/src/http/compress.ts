import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** The encodings that the server offers, the better one first. */
const encodings = ["br", "gzip"] as const;

export type Encoding = (typeof encodings)[number];

const compressWith: Readonly<
  Record<Encoding, (body: Uint8Array, isForMany: boolean) => Promise<Uint8Array>>
> = {
  br: (body, isForMany) => {
    // The best quality takes a hundred times as long as this one.
    const quality = isForMany ? constants.BROTLI_MAX_QUALITY : 4;
    return promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
  },
  gzip: (body) => promisify(gzip)(body),
};

const toBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes);

/**
 * Requests whose answers go straight to the network. Others are passed to a framework, which may compress them itself: Next.js
 * drops the header that says that an answer is compressed.
 */
const direct = new WeakSet<Request>();

/** Allows the answer to this request to be compressed. */
export const allowCompression = (request: Request): Request => {
  direct.add(request);
  return request;
};

/** The encoding to answer with, or undefined for none. Weights other than zero do not matter: all that a browser names is fine. */
export const chooseEncoding = (request: Request): Encoding | undefined => {
  if (!direct.has(request)) return undefined;
  const accepted = new Set(
    (request.headers.get("accept-encoding") ?? "")
      .toLowerCase()
      .split(",")
      .map((part) => part.split(";").map((word) => word.trim()))
      .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ""))
      .map(([name]) => name),
  );
  return encodings.find((encoding) => accepted.has(encoding));
};

/** For a body that many requests ask for: compressed as well as possible, once for each encoding. */
export const createCompressor = (
  plain: Uint8Array<ArrayBuffer>,
): ((encoding: Encoding | undefined) => Promise<Uint8Array<ArrayBuffer>>) => {
  const made = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();
  return async (encoding) => {
    if (encoding === undefined) return plain;
    let body = made.get(encoding);
    if (body === undefined) made.set(encoding, (body = compressWith[encoding](plain, true).then(toBytes)));
    return body;
  };
};

/** Smaller answers fit into one packet anyway. */
const smallest = 1_400;

/**
 * Whether another site may have caused the request. The length of a compressed answer tells whether a text that the request brought
 * along occurs in the rest of it (BREACH), so such an answer is never compressed.
 */
const isForeign = ({ headers }: Request): boolean => {
  const site = headers.get("sec-fetch-site");
  return site !== null && site !== "same-origin" && site !== "none";
};

/** A response of JSON, compressed if the client takes that and it is worth it. */
export const compressJson = async (request: Request, response: Response): Promise<Response> => {
  const encoding = isForeign(request) ? undefined : chooseEncoding(request);
  const { status, headers } = response;
  headers.set("vary", "accept-encoding, sec-fetch-site");
  if (encoding === undefined) return response;
  const body = new Uint8Array(await response.arrayBuffer());
  if (body.byteLength < smallest) return new Response(body, { status, headers });
  headers.set("content-encoding", encoding);
  return new Response(toBytes(await compressWith[encoding](body, false)), { status, headers });
};
