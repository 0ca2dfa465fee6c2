// Loads every entry that is named by the arguments after the first, with `import` or with `require`, and prints those that
// cannot be loaded. An entry for an optional peer which is not installed is none of them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [how, ...entries] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const load = { import: (entry) => import(entry), require: async (entry) => require(entry) }[how];

const isOptionalPeer = (entry, missing) => {
  const name = entry.split("/", entry.startsWith("@") ? 2 : 1).join("/");
  const manifest = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return manifest.peerDependenciesMeta?.[missing]?.optional === true;
};

for (const entry of entries) {
  try {
    await load(entry);
  } catch (error) {
    const missing = /Cannot find (?:package|module) '([^']+)'/.exec(error.message)?.[1];
    if (!isOptionalPeer(entry, missing)) console.log(`${entry}: ${error.message}`);
  }
}
