import { deserialize, serialize } from "bson";
import type { Document } from "../bson-values/types.ts";
import { crc32c } from "./crc32c.ts";

const opReply = 1;
const opQuery = 2004;
const opMessage = 2013;

export const messageFlags: Readonly<Record<"checksumPresent" | "moreToCome" | "exhaustAllowed", number>> = {
  checksumPresent: 1,
  moreToCome: 2,
  exhaustAllowed: 1 << 16,
};

export interface IncomingMessage {
  readonly requestId: number;
  readonly kind: "message" | "query";
  readonly flags: number;
  readonly database: string;
  readonly document: Document;
}

/** Keeps the types of numbers: what was stored as a long is given back as one. */
const decode = (bytes: Uint8Array): Document =>
  deserialize(bytes, { promoteValues: false, promoteLongs: false, promoteBuffers: false, bsonRegExp: true });

const readCString = (message: Buffer, at: number): { text: string; end: number } => {
  const end = message.indexOf(0, at);
  return { text: message.toString("utf8", at, end), end: end + 1 };
};

const readSequence = (message: Buffer, at: number, target: Document): number => {
  const end = at + message.readInt32LE(at);
  const { text: name, end: first } = readCString(message, at + 4);
  const documents: Document[] = [];
  for (let position = first; position < end;) {
    const size = message.readInt32LE(position);
    documents.push(decode(message.subarray(position, position + size)));
    position += size;
  }
  target[name] = documents;
  return end;
};

const checkChecksum = (message: Buffer): number => {
  const end = message.length - 4;
  if (crc32c(message.subarray(0, end)) !== message.readUInt32LE(end))
    throw new Error("wrong checksum of a message");
  return end;
};

const parseMessage = (message: Buffer, requestId: number): IncomingMessage => {
  const flags = message.readUInt32LE(16);
  const hasChecksum = (flags & messageFlags.checksumPresent) !== 0;
  const end = hasChecksum ? checkChecksum(message) : message.length;
  let body: Document = {};
  const sequences: Document = {};
  for (let at = 20; at < end;) {
    const kind = message.readUInt8(at);
    if (kind === 1) {
      at = readSequence(message, at + 1, sequences);
    } else if (kind === 0) {
      const size = message.readInt32LE(at + 1);
      body = decode(message.subarray(at + 1, at + 1 + size));
      at += 1 + size;
    } else {
      throw new Error(`a section of kind ${kind}`);
    }
  }
  const document = { ...body, ...sequences };
  return { requestId, kind: "message", flags, database: String(body["$db"]), document };
};

/** Only for the first hello of a connection. */
const parseQuery = (message: Buffer, requestId: number): IncomingMessage => {
  const { text: namespace, end } = readCString(message, 20);
  const document = decode(message.subarray(end + 8));
  const [database = ""] = namespace.split(".");
  return { requestId, kind: "query", flags: 0, database, document };
};

export const parseIncoming = (message: Buffer): IncomingMessage => {
  const requestId = message.readInt32LE(4);
  const opCode = message.readInt32LE(12);
  if (opCode === opMessage) return parseMessage(message, requestId);
  if (opCode === opQuery) return parseQuery(message, requestId);
  throw new Error(`the operation ${opCode} of the wire protocol is not known`);
};

let lastRequestId = 0;

const header = (length: number, responseTo: number, opCode: number): Buffer => {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32LE(length, 0);
  lastRequestId = (lastRequestId + 1) & 0x7fffffff;
  bytes.writeInt32LE(lastRequestId, 4);
  bytes.writeInt32LE(responseTo, 8);
  bytes.writeInt32LE(opCode, 12);
  return bytes;
};

/** The request id of a reply: exhaust replies answer one another. */
export interface EncodedReply {
  readonly bytes: Buffer;
  readonly requestId: number;
}

export const encodeReply = (
  { kind }: Pick<IncomingMessage, "kind">,
  responseTo: number,
  document: Document,
  moreToCome: boolean,
): EncodedReply => {
  const body = serialize(document, { ignoreUndefined: true });
  const middle = Buffer.alloc(kind === "message" ? 5 : 20);
  if (kind === "message") middle.writeUInt32LE(moreToCome ? messageFlags.moreToCome : 0, 0);
  else middle.writeInt32LE(1, 16);
  const head = header(16 + middle.length + body.length, responseTo, kind === "message" ? opMessage : opReply);
  return { bytes: Buffer.concat([head, middle, body]), requestId: head.readInt32LE(4) };
};
