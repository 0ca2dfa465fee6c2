/** A place in the list; only good until the list changes. */
export interface Position {
  readonly chunk: number;
  readonly offset: number;
}

export interface OrderedList<TItem> {
  size(): number;
  insert(item: TItem): void;
  /** Whether an equal item was there. */
  remove(item: TItem): boolean;
  has(item: TItem): boolean;
  at(position: Position): TItem | undefined;
  /** The first item for which the test fails; it has to hold for a beginning of the list and fail for the rest. */
  partition(isBefore: (item: TItem) => boolean): Position;
  step(position: Position, direction: 1 | -1): Position;
}

const largestChunk = 256;

/** A sorted list in chunks, so that inserting does not move everything behind it. */
export const createOrderedList = <TItem>(compare: (a: TItem, b: TItem) => number): OrderedList<TItem> => {
  const chunks: TItem[][] = [];
  let size = 0;

  const partitionOf = <T>(list: readonly T[], isBefore: (item: T) => boolean): number => {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(list[middle] as T)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const partition = (isBefore: (item: TItem) => boolean): Position => {
    const chunk = partitionOf(chunks, (items) => isBefore(items.at(-1) as TItem));
    return { chunk, offset: partitionOf(chunks[chunk] ?? [], isBefore) };
  };
  const at = ({ chunk, offset }: Position) => chunks[chunk]?.[offset];
  const placeOf = (item: TItem) => partition((other) => compare(other, item) < 0);
  const isAt = (position: Position, item: TItem): boolean => {
    const found = at(position);
    return found !== undefined && compare(found, item) === 0;
  };

  return {
    size: () => size,
    at,
    partition,
    has: (item) => isAt(placeOf(item), item),
    insert: (item) => {
      const position = placeOf(item);
      if (isAt(position, item)) return;
      size++;
      const last = chunks.length - 1;
      const chunk = chunks[position.chunk] ?? chunks[last];
      if (chunk === undefined) {
        chunks.push([item]);
        return;
      }
      const index = position.chunk > last ? last : position.chunk;
      chunk.splice(position.chunk > last ? chunk.length : position.offset, 0, item);
      if (chunk.length > largestChunk) chunks.splice(index + 1, 0, chunk.splice(largestChunk >> 1));
    },
    remove: (item) => {
      const position = placeOf(item);
      if (!isAt(position, item)) return false;
      size--;
      const chunk = chunks[position.chunk];
      chunk?.splice(position.offset, 1);
      if (chunk?.length === 0) chunks.splice(position.chunk, 1);
      return true;
    },
    step: ({ chunk, offset }, direction) => {
      const next = offset + direction;
      if (next < 0) return { chunk: chunk - 1, offset: (chunks[chunk - 1]?.length ?? 0) - 1 };
      return next < (chunks[chunk]?.length ?? 0) ? { chunk, offset: next } : { chunk: chunk + 1, offset: 0 };
    },
  };
};
