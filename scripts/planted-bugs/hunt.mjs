// Runs in a process of its own: looks for the bug in one copy of the package and prints what caught it, as JSON.
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, seeds] = [process.argv[2], Number(process.argv[3])];
const { createInProcessStateAdapter } = await import(pathToFileURL(join(folder, "index.js")).href);
const { simulate, stateAdapterConformance } = await import(pathToFileURL(join(folder, "testing.js")).href);

const answer = (result) => {
  process.stdout.write(JSON.stringify(result));
  process.exit(0);
};
// A bug may also show as an error that nobody handles.
process.on("unhandledRejection", (error) => answer({ by: "an unhandled rejection", detail: String(error) }));

for (let seed = 1; seed <= seeds; seed += 1) {
  try {
    const { violations } = await simulate({ seed });
    if (violations.length > 0)
      answer({ by: violations[0].invariant, seeds: seed, detail: violations[0].message });
  } catch (error) {
    answer({ by: "the simulation could not go on", seeds: seed, detail: String(error) });
  }
}

/** The least a suite needs: what it describes, one after the other. */
const tests = [];
let names = [];
stateAdapterConformance(
  {
    describe: (name, define) => {
      names = [...names, name];
      define();
      names = names.slice(0, -1);
    },
    it: (name, run) => tests.push({ name: [...names.slice(1), name].join(" › "), run }),
    afterAll: () => {},
  },
  {
    create: async () => {
      const adapter = createInProcessStateAdapter();
      return { adapter, destroy: () => adapter.close() };
    },
  },
);
for (const { name, run } of tests) {
  try {
    await run();
  } catch (error) {
    answer({ by: "state adapter conformance", detail: `${name}: ${String(error).split("\n")[0]}` });
  }
}
answer({ by: null });
