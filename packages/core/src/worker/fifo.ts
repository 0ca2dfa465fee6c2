/** A queue whose `shift` does not move the rest. */
export interface Fifo<T> {
  push(item: T): void;
  peek(): T | undefined;
  shift(): T | undefined;
  /** Up to `count` items from the front. */
  take(count: number): T[];
  readonly size: number;
}

const compactAfter = 10_000;

export const createFifo = <T>(): Fifo<T> => {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    push: (item) => {
      items.push(item);
    },
    peek: () => items[head],
    shift: () => {
      const item = items[head];
      if (head >= items.length) return undefined;
      items[head] = undefined;
      head += 1;
      if (head === items.length) {
        items = [];
        head = 0;
      }
      return item;
    },
    take: (count) => {
      const taken = items.slice(head, head + count) as T[];
      head += taken.length;
      if (head === items.length || head > compactAfter) {
        items = items.slice(head);
        head = 0;
      }
      return taken;
    },
    get size() {
      return items.length - head;
    },
  };
};
