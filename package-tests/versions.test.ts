import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { publishedPackages, root } from "./registry.ts";
import { runWell } from "./run.ts";

interface VersionedManifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const folder = mkdtempSync(join(tmpdir(), "leasehold-versions-"));

const packageFiles = ["packages", "examples"].flatMap((parent) =>
  readdirSync(join(root, parent))
    .map((name) => join(parent, name, "package.json"))
    .filter((path) => existsSync(join(root, path))),
);

const copied = [
  ".changeset",
  "CHANGELOG.md",
  "package.json",
  "examples/package.json",
  "package-tests/package.json",
  "scripts/release",
  ...packageFiles,
];

beforeAll(async () => {
  for (const path of copied) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  // Changesets reads the history of the files that it consumes.
  await runWell("git", ["init", "--quiet"], folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const readManifest = (path: string): VersionedManifest =>
  JSON.parse(readFileSync(join(folder, path), "utf8")) as VersionedManifest;

const release = async (): Promise<readonly VersionedManifest[]> => {
  await runWell("node", ["scripts/release/version.mjs"], folder);
  return packageFiles
    .filter((path) => path.startsWith("packages/"))
    .map(readManifest)
    .filter((manifest) => manifest.private !== true);
};

const writeChangeset = (name: string, type: string): void =>
  writeFileSync(join(folder, ".changeset/next.md"), `---\n"${name}": ${type}\n---\n\nA ${type} change.\n`);

it("all packages get one version, and accept each other in it", async () => {
  for (const name of readdirSync(join(folder, ".changeset"))) {
    if (name.endsWith(".md")) rmSync(join(folder, ".changeset", name));
  }
  // From the first release on, whatever the version is today.
  const [major = 0, minor = 0] = publishedPackages[0]!.version.split(".").map(Number);
  const steps = [
    ["leasehold", "minor", `${major}.${minor + 1}.0`],
    ["@leasehold/redis", "patch", `${major}.${minor + 1}.1`],
    ["leasehold", "minor", `${major}.${minor + 2}.0`],
  ] as const;
  for (const [name, type, expected] of steps) {
    writeChangeset(name, type);
    const manifests = await release();
    expect(manifests.map(({ name, version }) => [name, version])).toEqual(
      publishedPackages.map(({ name }) => [name, expected]),
    );
    const ranges = manifests.map(({ peerDependencies }) => peerDependencies?.["leasehold"]);
    expect(new Set(ranges.filter((range) => range !== undefined))).toEqual(
      new Set([`>=${expected} <${Number.parseInt(expected, 10) + 1}.0.0`]),
    );
    expect(readFileSync(join(folder, "CHANGELOG.md"), "utf8")).toMatch(
      new RegExp(`^# Changelog[^#]*\n## ${expected} \\(.*\\)\n\n### .+\n\nA ${type} change\\.\n`),
    );
  }
}, 120_000);
