// Proves the proof: breaks Leasehold in many ways, one at a time, and shows what notices. `--only text` picks bugs by their
// name or the file that they are in, and can be given several times. `--seeds N` bounds the search, `--at-once N` how many
// bugs are hunted at a time. `--store postgres`, `sqlite` or `mongodb` breaks the statements of that store instead,
// `--store recurring` the times and ticks of recurring jobs, `--store history` what the in-process store keeps of the past,
// `--store dashboard` the actions of the dashboard. With
// `--tests pattern` only tests of that name are asked, which is quicker where it is known who is to notice. With `--matrix` each
// bug in core, or with `--store sqlite` in that store, is shown with every layer of tests that notices it on its own;
// `--layer name` picks layers.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { plantedBugs } from "./planted-bugs/bugs.mjs";
import { findStoreMisfits, stores } from "./planted-bugs/store-bugs.mjs";
import { layers } from "./planted-bugs/layers.mjs";
import { huntByLayer, huntInStore } from "./planted-bugs/store-hunt.mjs";
import { createVariant, findMisfits } from "./planted-bugs/variant.mjs";

const { values } = parseArgs({
  options: {
    "at-once": { type: "string", default: String(Math.min(2, availableParallelism())) },
    layer: { type: "string", multiple: true },
    matrix: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [""] },
    seeds: { type: "string", default: "2000" },
    store: { type: "string" },
    tests: { type: "string" },
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

const isPicked = ({ name, patches }) =>
  values.only.some((text) => name.includes(text) || patches.some(({ file }) => file.includes(text)));
const queue = bugs.filter(isPicked);
const misfits = queue.flatMap(values.store === undefined ? findMisfits : findStoreMisfits);
if (misfits.length > 0) giveUp(`Some bugs cannot be planted any more:\n  ${misfits.join("\n  ")}`);
const atOnce = Number(values["at-once"]);
const missed = [];
/** The hunt itself failed: nothing is known about these. */
const unknown = [];

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
  await Promise.all(Array.from({ length: atOnce }, takeTurns));
};

const huntByTests = async () => {
  console.log("| bug | caught by |\n|---|---|");
  const indexes = queue.map((bug) => bugs.indexOf(bug));
  await huntInStore(values.store, indexes, { atOnce, only: values.tests }, (index, { by, error }) => {
    if (error !== undefined) unknown.push(bugs[index].name);
    else if (by === null) missed.push(bugs[index].name);
    const verdict = error === undefined ? (by ?? "NOTHING") : `NO VERDICT: ${error}`;
    console.log(`| ${bugs[index].name} | ${verdict.replaceAll(/\s*[|\n]\s*/g, " / ").slice(0, 160)} |`);
  });
};

const printMatrix = async () => {
  const known = layers[values.store ?? "core"] ?? giveUp(`${values.store} has no layers.`);
  const names = values.layer ?? Object.keys(known);
  const picked = Object.fromEntries(names.map((name) => [name, known[name] ?? giveUp(`No layer ${name}.`)]));
  console.log(`| bug | ${names.join(" | ")} |\n|---|${"---|".repeat(names.length)}`);
  const indexes = queue.map((bug) => bugs.indexOf(bug));
  const alone = Object.fromEntries(names.map((name) => [name, 0]));
  await huntByLayer({ store: values.store, bugs, indexes, layers: picked, atOnce }, (index, found) => {
    const marks = names.map((name) =>
      found[name].error !== undefined ? "?" : found[name].by === null ? "" : "x",
    );
    const noticed = names.filter((_, place) => marks[place] === "x");
    if (noticed.length === 0) (marks.includes("?") ? unknown : missed).push(bugs[index].name);
    if (noticed.length === 1) alone[noticed[0]] += 1;
    console.log(`| ${bugs[index].name.replaceAll("|", "/")} | ${marks.join(" | ")} |`);
  });
  console.log(`| only this layer | ${names.map((name) => alone[name]).join(" | ")} |`);
};

const huntEach = () => (values.store === undefined ? huntBySimulation() : huntByTests());
await (values.matrix ? printMatrix() : huntEach());
const caught = queue.length - missed.length - unknown.length;
console.log(`\n${caught} of ${queue.length} planted bugs caught.`);
if (unknown.length > 0) console.log(`No verdict about ${unknown.length}: the hunt itself failed.`);
process.exitCode = caught < queue.length ? 1 : 0;
