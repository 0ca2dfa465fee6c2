// Proves the proof: breaks Leasehold in many ways, one at a time, and shows what notices. `--only text` picks bugs by
// name, `--seeds N` bounds the search.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { plantedBugs } from "./planted-bugs/bugs.mjs";
import { createVariant, findMisfits } from "./planted-bugs/variant.mjs";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, seeds: { type: "string", default: "2000" } },
});
const hunt = fileURLToPath(new URL("planted-bugs/hunt.mjs", import.meta.url));
const run = promisify(execFile);
// A bug that makes the simulation itself hang is caught by this.
const patienceMs = 600_000;

const misfits = plantedBugs.flatMap(findMisfits);
if (misfits.length > 0) {
  console.error(`Some bugs cannot be planted any more:\n  ${misfits.join("\n  ")}`);
  process.exit(1);
}

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

const queue = plantedBugs.filter(({ name }) => name.includes(values.only));
const missed = [];
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
console.log(`\n${queue.length - missed.length} of ${queue.length} planted bugs caught.`);
process.exitCode = missed.length > 0 ? 1 : 0;
