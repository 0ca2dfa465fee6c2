/** A queue whose `shift` does not move the rest. */
export interface Fifo<T> {
  push(item: T): void;
  peek(): T | undefined;
  shift(): T | undefined;
  readonly size: number;
}

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
    get size() {
      return items.length - head;
    },
  };
};
