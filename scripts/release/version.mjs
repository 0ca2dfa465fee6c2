// Turns the changesets into the next version of all packages: `npm run version`. `changeset version` sets the versions. This
// script adds what it leaves out: one CHANGELOG.md for all packages, and the ranges in which they accept each other.
import read from "@changesets/read";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const kinds = { major: "Breaking changes", minor: "New", patch: "Fixes" };

const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

const manifestsIn = (folder) =>
  readdirSync(folder)
    .map((name) => join(folder, name, "package.json"))
    .filter((path) => existsSync(path));

const isOwn = (name) => name === "leasehold" || name.startsWith("@leasehold/");

/** The greatest change of any package decides, because all get the same version. */
const kindOf = ({ releases }) =>
  Object.keys(kinds).find((kind) => releases.some(({ type }) => type === kind)) ?? "patch";

const describeRelease = (version, changesets) => {
  const sections = Object.entries(kinds).flatMap(([kind, title]) => {
    const texts = changesets.filter((changeset) => kindOf(changeset) === kind).map(({ summary }) => summary);
    return texts.length === 0 ? [] : [`### ${title}\n\n${texts.join("\n\n")}`];
  });
  return [`## ${version} (${new Date().toISOString().slice(0, 10)})`, ...sections].join("\n\n");
};

const addToChangelog = (release) => {
  const [title, ...older] = readFileSync("CHANGELOG.md", "utf8").split(/\n(?=## )/);
  writeFileSync("CHANGELOG.md", `${[title.trim(), release, ...older].join("\n\n").trim()}\n`);
};

const setRanges = (path, field, range) => {
  const manifest = readJson(path);
  const names = Object.keys(manifest[field] ?? {}).filter(isOwn);
  if (names.length === 0) return;
  for (const name of names) manifest[field][name] = range;
  writeJson(path, manifest);
};

const changesets = await read(process.cwd());
if (changesets.length === 0) throw new Error("There are no changesets, so there is nothing to release.");
execFileSync("npx", ["--no-install", "changeset", "version"], { stdio: "inherit" });

const { version } = readJson("packages/core/package.json");
addToChangelog(describeRelease(version, changesets));
// The next minor version must be within the range. Otherwise `changeset version` would make it a major one.
const accepted = `>=${version} <${Number.parseInt(version, 10) + 1}.0.0`;
for (const path of manifestsIn("packages")) setRanges(path, "peerDependencies", accepted);
for (const path of manifestsIn("examples")) {
  setRanges(path, "dependencies", `^${version}`);
  setRanges(path, "devDependencies", `^${version}`);
}
console.log(`Version ${version}. Read CHANGELOG.md, then commit.`);
