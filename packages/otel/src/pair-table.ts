/** Values found by two names, without building a key out of them: this is on the path of every job. */
export interface PairTable<T> {
  get(first: string, second: string): T;
  all(): Iterable<T>;
}

/** Makes each value once, when it is first asked for. */
export const createPairTable = <T>(create: (first: string, second: string) => T): PairTable<T> => {
  const byFirst = new Map<string, Map<string, T>>();
  const values: T[] = [];

  const add = (first: string, second: string): T => {
    const value = create(first, second);
    values.push(value);
    const bySecond = byFirst.get(first);
    if (bySecond) bySecond.set(second, value);
    else byFirst.set(first, new Map([[second, value]]));
    return value;
  };

  return {
    get: (first, second) => byFirst.get(first)?.get(second) ?? add(first, second),
    all: () => values,
  };
};
