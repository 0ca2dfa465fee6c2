// Proves the proof: breaks Leasehold in many ways, one at a time, and shows what notices. `--only text` picks bugs by
// name, `--seeds N` bounds the search. `--store postgres`, `sqlite` or `mongodb` breaks the statements of that store instead,
// `--store recurring` the times and ticks of recurring jobs, `--store history` what the in-process store keeps of the past.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { plantedBugs } from "./planted-bugs/bugs.mjs";
import { findStoreMisfits, stores } from "./planted-bugs/store-bugs.mjs";
import { huntInStore } from "./planted-bugs/store-hunt.mjs";
import { createVariant, findMisfits } from "./planted-bugs/variant.mjs";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    seeds: { type: "string", default: "2000" },
    store: { type: "string" },
  },
});
const hunt = fileURLToPath(new URL("planted-bugs/hunt.mjs", import.meta.url));
const run = promisify(execFile);
// A bug that makes the simulation itself hang is caught by this.
const patienceMs = 600_000;

const giveUp = (message) => {
  console.error(message);
  process.exit(1);
};

if (values.store !== undefined && stores[values.store] === undefined)
  giveUp(`There is no store ${values.store}. There are ${Object.keys(stores).join(" and ")}.`);
const bugs = values.store === undefined ? plantedBugs : stores[values.store].bugs;
const misfits = bugs.flatMap(values.store === undefined ? findMisfits : findStoreMisfits);
if (misfits.length > 0) giveUp(`Some bugs cannot be planted any more:\n  ${misfits.join("\n  ")}`);

const search = async (bug) => {
  const variant = createVariant(bug);
  try {
    const { stdout } = await run(process.execPath, [hunt, variant.folder, values.seeds], {
      timeout: patienceMs,
    });
    return JSON.parse(stdout);
  } catch (error) {
    return {
      by: error.killed ? "it hangs" : "it crashes",
      detail: String(error.stderr ?? error).slice(0, 200),
    };
  } finally {
    variant.remove();
  }
};

const queue = bugs.filter(({ name }) => name.includes(values.only));
const missed = [];

const huntBySimulation = async () => {
  let next = 0;
  const takeTurns = async () => {
    while (next < queue.length) {
      const bug = queue[next++];
      const { by, seeds, detail = "" } = await search(bug);
      if (by === null) missed.push(bug.name);
      const after = by === null ? "—" : seeds === undefined ? "" : `${seeds} seed${seeds === 1 ? "" : "s"}`;
      console.log(
        `| ${bug.name} | ${by ?? "NOTHING"} | ${after} | ${detail.replaceAll("|", "/").slice(0, 110)} |`,
      );
    }
  };
  console.log("| bug | caught by | after | for example |\n|---|---|---|---|");
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, takeTurns));
};

const huntByTests = async () => {
  console.log("| bug | caught by |\n|---|---|");
  const indexes = queue.map((bug) => bugs.indexOf(bug));
  await huntInStore(values.store, indexes, (index, by) => {
    if (by === null) missed.push(bugs[index].name);
    console.log(`| ${bugs[index].name} | ${(by ?? "NOTHING").replaceAll("|", "/").slice(0, 160)} |`);
  });
};

await (values.store === undefined ? huntBySimulation() : huntByTests());
console.log(`\n${queue.length - missed.length} of ${queue.length} planted bugs caught.`);
process.exitCode = missed.length > 0 ? 1 : 0;
