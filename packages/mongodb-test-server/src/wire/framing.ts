/** Puts the bytes of a connection together to whole messages. */
export interface Framing {
  push(bytes: Buffer): Buffer[];
}

export const createFraming = (largest: number): Framing => {
  let chunks: Buffer[] = [];
  let size = 0;

  /** The length of the message that begins the bytes, once it is known. */
  const lengthOf = (bytes: Buffer | undefined): number | undefined => {
    if (bytes === undefined || bytes.length < 4) return undefined;
    const length = bytes.readInt32LE(0);
    if (length < 16 || length > largest) throw new Error(`a message of ${length} bytes`);
    return length;
  };

  return {
    push: (bytes) => {
      chunks.push(bytes);
      size += bytes.length;
      // A large message comes in many pieces: they are put together once.
      const awaited = lengthOf(chunks[0]);
      if (awaited !== undefined && size < awaited) return [];
      let rest = chunks.length === 1 ? bytes : Buffer.concat(chunks);
      const messages: Buffer[] = [];
      for (
        let length = lengthOf(rest);
        length !== undefined && length <= rest.length;
        length = lengthOf(rest)
      ) {
        messages.push(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
      chunks = rest.length === 0 ? [] : [rest];
      size = rest.length;
      return messages;
    },
  };
};
