import { describe, expect, it } from "vitest";

interface PlantedBug {
  readonly name: string;
}

// Outside this package, and JavaScript, because it works on what was built.
const scripts = new URL("../../../../scripts/planted-bugs/", import.meta.url);
const { plantedBugs } = (await import(new URL("bugs.mjs", scripts).href)) as { plantedBugs: PlantedBug[] };
const { findMisfits } = (await import(new URL("variant.mjs", scripts).href)) as {
  findMisfits: (bug: PlantedBug) => string[];
};

const { findStoreMisfits, stores } = (await import(new URL("store-bugs.mjs", scripts).href)) as {
  findStoreMisfits: (bug: PlantedBug) => string[];
  stores: Record<string, { bugs: PlantedBug[] }>;
};

// That each of them is caught takes minutes: `npm run test:planted-bugs`, and with `-- --store postgres` or `sqlite`.
describe("the planted bugs", () => {
  it("are enough, and no two have one name", () => {
    expect(plantedBugs.length).toBeGreaterThanOrEqual(25);
    expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
  });

  it("can all still be planted in what is built", () => {
    expect(plantedBugs.flatMap(findMisfits)).toEqual([]);
  });

  it.each(Object.entries(stores))("can all still be planted in the statements of %s", (_store, { bugs }) => {
    expect(bugs.length).toBeGreaterThanOrEqual(20);
    expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length);
    expect(bugs.flatMap(findStoreMisfits)).toEqual([]);
  });
});
