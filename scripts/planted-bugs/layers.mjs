// The layers of tests, by the files that they are in: for each, the tests that have to notice a bug on their own.

const unitOf = (folder, others) => ({ include: [`${folder}/**/*.test.ts`], exclude: others });

const core = {
  state: ["packages/core/src/memory/state-adapter.test.ts"],
  model: ["packages/core/src/memory/model.test.ts"],
  scenarios: ["packages/core/src/scenarios.test.ts"],
  "nth call": ["packages/core/src/memory/nth-call.test.ts"],
  simulation: ["packages/core/src/simulation/*.test.ts"],
};

const sqlite = {
  state: ["packages/sqlite/src/state-adapter.test.ts"],
  model: ["packages/sqlite/src/model.test.ts"],
  scenarios: ["packages/sqlite/src/scenarios.test.ts"],
  "nth call": ["packages/sqlite/src/nth-call.test.ts"],
};

// Tests of the suites themselves, of random values and of memory take long and notice no planted bug first.
const slow = [
  "packages/core/src/{conformance,testing}/**",
  "packages/core/src/{fuzz,fuzz-thrown,leaks}.test.ts",
];

const withUnit = (folder, layers, exclude = []) => ({
  ...Object.fromEntries(Object.entries(layers).map(([name, include]) => [name, { include, exclude: [] }])),
  unit: unitOf(folder, [...Object.values(layers).flat(), ...exclude]),
});

/** By what the bugs are in: core and its in-process store, or a store. */
export const layers = {
  core: withUnit("packages/core/src", core, slow),
  sqlite: withUnit("packages/sqlite/src", sqlite, ["packages/sqlite/src/providers/**"]),
};
