import type { ConformanceRunner } from "./runner.ts";

interface Group {
  readonly name: string;
  readonly entries: (Group | ((runner: ConformanceRunner) => void))[];
  tests: number;
}

/**
 * A runner that registers one of every `of` tests, beginning with test `part`, and no group without tests. For one more
 * client of a store that has passed the whole suite: what a client does wrong shows in many tests. Clients with different
 * parts run different tests, together all of them.
 */
export const sampleRunner = (
  runner: ConformanceRunner,
  { part, of }: { readonly part: number; readonly of: number },
): ConformanceRunner => {
  let count = 0;
  let group: Group | undefined;

  const register = ({ name, entries }: Group): void => {
    runner.describe(name, () => {
      for (const entry of entries) {
        if (typeof entry === "function") entry(runner);
        else if (entry.tests > 0) register(entry);
      }
    });
  };

  const add = (entry: (to: ConformanceRunner) => void): void => {
    if (group === undefined) entry(runner);
    else group.entries.push(entry);
  };

  return {
    describe: (name, define) => {
      const outer = group;
      const inner: Group = { name, entries: [], tests: 0 };
      group = inner;
      try {
        define();
      } finally {
        group = outer;
      }
      if (outer !== undefined) {
        outer.entries.push(inner);
        outer.tests += inner.tests;
      } else if (inner.tests > 0) register(inner);
    },
    it: (name, test, timeoutMs) => {
      const isSampled = count % of === part;
      count += 1;
      if (!isSampled) return;
      if (group !== undefined) group.tests += 1;
      add(({ it }) => it(name, test, timeoutMs));
    },
    afterAll: (clean) => add(({ afterAll }) => afterAll(clean)),
  };
};
