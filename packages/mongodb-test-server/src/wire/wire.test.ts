import { serialize } from "bson";
import { expect, test } from "vitest";
import { crc32c } from "./crc32c.ts";
import { createFraming } from "./framing.ts";
import { encodeReply, messageFlags, parseIncoming } from "./messages.ts";

const messageOf = (flags: number, sections: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(sections);
  const head = Buffer.alloc(20);
  const hasChecksum = (flags & messageFlags.checksumPresent) !== 0;
  head.writeInt32LE(20 + body.length + (hasChecksum ? 4 : 0), 0);
  head.writeInt32LE(7, 4);
  head.writeInt32LE(2013, 12);
  head.writeUInt32LE(flags, 16);
  const message = Buffer.concat([head, body]);
  if (!hasChecksum) return message;
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32c(message));
  return Buffer.concat([message, checksum]);
};

const bodySection = Buffer.concat([Buffer.from([0]), serialize({ insert: "c", $db: "d" })]);

const sequenceSection = (): Buffer => {
  const content = Buffer.concat([Buffer.from("documents\0"), serialize({ _id: 1 }), serialize({ _id: 2 })]);
  const size = Buffer.alloc(4);
  size.writeInt32LE(content.length + 4);
  return Buffer.concat([Buffer.from([1]), size, content]);
};

test("puts the documents of a sequence into the command, wherever the sequence stands", () => {
  for (const sections of [
    [bodySection, sequenceSection()],
    [sequenceSection(), bodySection],
  ]) {
    const { document, database, requestId } = parseIncoming(messageOf(0, sections));
    expect([database, requestId, document["insert"]]).toEqual(["d", 7, "c"]);
    expect(Object.keys(document)[0]).toBe("insert");
    expect(document["documents"]).toHaveLength(2);
  }
});

test("checks a checksum that is there", () => {
  const message = messageOf(messageFlags.checksumPresent, [bodySection]);
  expect(parseIncoming(message).document["insert"]).toBe("c");
  message[30] = (message[30] ?? 0) ^ 1;
  expect(() => parseIncoming(message)).toThrow(/checksum/);
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
});

test("puts messages together from whatever pieces arrive", () => {
  const message = messageOf(0, [bodySection]);
  const two = Buffer.concat([message, message]);
  for (const size of [1, 3, 17, message.length, two.length]) {
    const framing = createFraming(1000);
    const messages: Buffer[] = [];
    for (let at = 0; at < two.length; at += size) messages.push(...framing.push(two.subarray(at, at + size)));
    expect(messages.map((one) => one.equals(message))).toEqual([true, true]);
  }
});

test("refuses a message that is too long", () => {
  const huge = Buffer.alloc(16);
  huge.writeInt32LE(2000, 0);
  expect(() => createFraming(1000).push(huge)).toThrow(/2000/);
});

test("a reply says whether more will come", () => {
  const { bytes } = encodeReply({ kind: "message" }, 7, { ok: 1 }, true);
  expect(bytes.readInt32LE(8)).toBe(7);
  expect(bytes.readUInt32LE(16)).toBe(messageFlags.moreToCome);
});
