/** Puts the bytes of a connection together to whole messages. */
export interface Framing {
  push(bytes: Buffer): Buffer[];
}

export const createFraming = (largest: number): Framing => {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    push: (bytes) => {
      chunks.push(bytes);
      size += bytes.length;
      const first = chunks[0];
      if (first !== undefined && first.length >= 4 && size < first.readInt32LE(0)) return [];
      let rest = chunks.length === 1 ? bytes : Buffer.concat(chunks);
      const messages: Buffer[] = [];
      while (rest.length >= 4) {
        const length = rest.readInt32LE(0);
        if (length < 16 || length > largest) throw new Error(`a message of ${length} bytes`);
        if (rest.length < length) break;
        messages.push(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
      chunks = rest.length === 0 ? [] : [rest];
      size = rest.length;
      return messages;
    },
  };
};
