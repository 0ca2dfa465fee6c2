import { PayloadNotStorableError, PayloadTooLargeError } from "../errors.ts";
import { decodeJson, encodeJson, isPayloadError } from "./json-codec.ts";
import { isStorableText } from "./option-checks.ts";

/** Turns payloads into the text that is stored, and back. All adapters store that text unchanged. */
export interface Codec {
  readonly name: string;
  /**
   * Throws for a value that would not come back the same; `path` names the value in messages. Past `maxBytes` the
   * result is refused anyway, so a codec that notices early may throw `PayloadTooLargeError` instead of going on.
   */
  encode(value: unknown, path: string, maxBytes?: number): string;
  decode(text: string): unknown;
}

export const defaultMaxPayloadBytes: number = 1_024 * 1_024;

export const jsonCodec: Codec = { name: "json", encode: encodeJson, decode: decodeJson };

export interface EncodePayloadOptions {
  readonly codec: Codec;
  readonly value: unknown;
  /** Names the value in messages: `input`, `output`, `progress`. */
  readonly path: string;
  readonly maxBytes: number;
}

const requireStorableText = (codec: Codec, text: unknown, path: string): string => {
  if (typeof text !== "string") {
    throw new PayloadNotStorableError(path, `codec "${codec.name}" did not return a string`);
  }
  if (!isStorableText(text)) {
    throw new PayloadNotStorableError(
      path,
      `codec "${codec.name}" returned NUL characters or unpaired surrogates`,
    );
  }
  return text;
};

const requireSize = (text: string, path: string, maxBytes: number): void => {
  // UTF-8 takes one to three bytes for each UTF-16 unit, so most texts need no count.
  if (text.length * 3 <= maxBytes) return;
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text);
  if (bytes > maxBytes) throw new PayloadTooLargeError(path, bytes, maxBytes);
};

/** A handler that returns nothing has the output `null`, whatever the codec. */
export const encodePayload = ({ codec, value, path, maxBytes }: EncodePayloadOptions): string => {
  let text: unknown;
  try {
    text = codec.encode(value === undefined ? null : value, path, maxBytes);
  } catch (error) {
    if (isPayloadError(error)) throw error;
    throw new PayloadNotStorableError(path, `codec "${codec.name}" failed to encode it`, { cause: error });
  }
  // Size first: there is no use in scanning a text that is refused.
  if (typeof text === "string") requireSize(text, path, maxBytes);
  // JSON text escapes whatever a store could stumble over.
  return codec === jsonCodec ? (text as string) : requireStorableText(codec, text, path);
};

export const decodePayload = (codec: Codec, text: string, path: string): unknown => {
  try {
    return codec.decode(text);
  } catch (error) {
    throw new PayloadNotStorableError(path, `codec "${codec.name}" cannot read back what is stored`, {
      cause: error,
    });
  }
};
