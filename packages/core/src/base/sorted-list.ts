/** The index of the first item for which `isReached` holds, by binary search; the length if it holds for none. */
const firstIndex = <T>(items: readonly T[], isReached: (item: T) => boolean): number => {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
};

const mostInChunk = 256;

/**
 * Items in order, in chunks of at most 256: to add or delete an item moves only the items of its chunk. No two items may be
 * equal by `compare`, and an item must compare alike as long as it is in the list.
 */
export class SortedList<T> {
  size = 0;
  readonly #compare: (a: T, b: T) => number;
  readonly #chunks: T[][] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  first(): T | undefined {
    return this.#chunks[0]?.[0];
  }

  /** The first item for which `isReached` holds. It must hold for every later item, too. */
  find(isReached: (item: T) => boolean): T | undefined {
    const chunk = this.#chunks[firstIndex(this.#chunks, (each) => isReached(each.at(-1)!))];
    return chunk?.[firstIndex(chunk, isReached)];
  }

  after(item: T): T | undefined {
    return this.find((other) => this.#compare(other, item) > 0);
  }

  findLast(isWanted: (item: T) => boolean): T | undefined {
    for (let index = this.#chunks.length - 1; index >= 0; index -= 1) {
      const found = this.#chunks[index]!.findLast(isWanted);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  add(item: T): void {
    this.size += 1;
    const chunks = this.#chunks;
    const isAfter = (other: T): boolean => this.#compare(other, item) > 0;
    const last = chunks.at(-1);
    if (last === undefined || !isAfter(last.at(-1)!)) {
      if (last !== undefined && last.length < mostInChunk) last.push(item);
      else chunks.push([item]);
      return;
    }
    const index = firstIndex(chunks, (each) => isAfter(each.at(-1)!));
    const chunk = chunks[index]!;
    chunk.splice(firstIndex(chunk, isAfter), 0, item);
    if (chunk.length > mostInChunk) chunks.splice(index + 1, 0, chunk.splice(mostInChunk >> 1));
  }

  delete(item: T): void {
    const chunks = this.#chunks;
    const isReached = (other: T): boolean => this.#compare(other, item) >= 0;
    // Claims and commits mostly take the first item.
    const isFirst = chunks[0]?.[0] === item;
    const index = isFirst ? 0 : firstIndex(chunks, (each) => isReached(each.at(-1)!));
    const chunk = chunks[index];
    const position = isFirst || chunk === undefined ? 0 : firstIndex(chunk, isReached);
    if (chunk === undefined || chunk[position] !== item) return;
    if (position === 0) chunk.shift();
    else chunk.splice(position, 1);
    if (chunk.length === 0) chunks.splice(index, 1);
    this.size -= 1;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const chunk of this.#chunks) yield* chunk;
  }
}
