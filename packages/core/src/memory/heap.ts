/** A binary heap: the item that goes before all others is at hand, the rest is in no particular order. */
export interface Heap<T> {
  size(): number;
  push(item: T): void;
  peek(): T | undefined;
  pop(): T | undefined;
  /** Every item, unordered; valid until the next change. */
  items(): readonly T[];
  /** Drops all other items in one pass, which is cheaper than popping around them. */
  retain(keep: (item: T) => boolean): void;
}

export const createHeap = <T>(goesBefore: (a: T, b: T) => boolean): Heap<T> => {
  let items: T[] = [];

  const siftUp = (start: number): void => {
    const item = items[start] as T;
    let index = start;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = items[parentIndex] as T;
      if (!goesBefore(item, parent)) break;
      items[index] = parent;
      index = parentIndex;
    }
    items[index] = item;
  };

  const siftDown = (start: number): void => {
    const item = items[start] as T;
    const size = items.length;
    let index = start;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= size) break;
      if (childIndex + 1 < size && goesBefore(items[childIndex + 1] as T, items[childIndex] as T))
        childIndex += 1;
      const child = items[childIndex] as T;
      if (!goesBefore(child, item)) break;
      items[index] = child;
      index = childIndex;
    }
    items[index] = item;
  };

  return {
    size: () => items.length,
    push: (item) => {
      items.push(item);
      siftUp(items.length - 1);
    },
    peek: () => items[0],
    pop: () => {
      const first = items[0];
      const last = items.pop();
      if (items.length > 0) {
        items[0] = last as T;
        siftDown(0);
      }
      return first;
    },
    items: () => items,
    retain: (keep) => {
      items = items.filter(keep);
      for (let index = (items.length >> 1) - 1; index >= 0; index -= 1) siftDown(index);
    },
  };
};
