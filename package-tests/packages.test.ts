import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { compile } from "./compile.ts";
import { createFreshProject, entries, type FreshProject } from "./fresh-project.ts";
import { publishedPackages, root } from "./registry.ts";
import { run, runWell } from "./run.ts";

// Compilers and other programs run here, beside other tests.
vi.setConfig({ testTimeout: 120_000 });

// What apps/order.ts prints.
const printed = "receipt for order-1\n";

let project: FreshProject;
beforeAll(async () => {
  project = await createFreshProject();
}, 120_000);
afterAll(() => project.remove(), 60_000);

describe.each(publishedPackages.map(({ name }) => name))("the tarball of %s", (name) => {
  it("has what npm shows, and nothing of the build or the tests", async () => {
    const listing = await runWell("tar", ["-tzf", project.tarballs.get(name)!], root);
    const files = listing.trim().split("\n");
    expect(files).toContain("package/README.md");
    expect(files).toContain("package/LICENSE");
    expect(files.filter((file) => /\.tsbuildinfo$|\.map$|\.test(-d)?\.|\/src\//.test(file))).toEqual([]);
  });

  it("says where it comes from", () => {
    const path = join(project.folder, "node_modules", name, "package.json");
    const manifest = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      description: expect.any(String),
      keywords: expect.arrayContaining(["job-queue"]),
      homepage: expect.stringContaining("https://"),
      bugs: expect.anything(),
      repository: { directory: expect.stringMatching(/^packages\//) },
      license: "MIT",
    });
  });
});

// Modules without `exports` find the main entry only, and CommonJS gets ES modules: docs/runtimes.md lists both.
const isExpected = (problem: { readonly kind: string; readonly resolutionKind?: string }): boolean =>
  problem.resolutionKind === "node10" || problem.kind === "CJSResolvesToESM";

describe.each(publishedPackages.map(({ name }) => name))("the manifest of %s", (name) => {
  it("leads every module resolution to code and types (attw)", async () => {
    const tarball = createPackageFromTarballData(readFileSync(project.tarballs.get(name)!));
    const { types, ...result } = await checkPackage(tarball);
    expect(types).toMatchObject({ kind: "included" });
    const problems = "problems" in result ? result.problems : [];
    expect(problems.filter((problem) => !isExpected(problem))).toEqual([]);
  });

  it("is as npm and bundlers want it (publint)", async () => {
    const file = readFileSync(project.tarballs.get(name)!);
    const tarball = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
    const { messages } = await publint({ pack: { tarball }, strict: true });
    expect(messages).toEqual([]);
  });
});

it("the pages come with the package, and its skill names pages that are there", () => {
  const folder = join(project.folder, "node_modules/leasehold");
  const skill = readFileSync(join(folder, "SKILL.md"), "utf8");
  const named = [...skill.matchAll(/`(docs\/[\w-]+\.md)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
});

describe("in a fresh project", () => {
  it.each(["import", "require"])("every entry loads with %s", async (how) => {
    expect(await runWell("node", ["load-entries.mjs", how, ...entries], project.folder)).toBe("");
  });

  it("the command runs", async () => {
    const command = join(project.folder, "node_modules/.bin/leasehold");
    expect(await runWell(command, ["--help"], project.folder)).toContain("Usage: leasehold");
  });

  it("the command alone reports which store to install", async () => {
    const folder = join(project.folder, "..", "command");
    mkdirSync(folder);
    await project.install(folder, ["@leasehold/cli"]);
    const command = join(folder, "node_modules/.bin/leasehold");
    const { code, output } = await run(command, ["migrate", "--store", "sqlite:./jobs.db"], folder);
    expect(code).toBe(4);
    expect(output).toContain("npm install @leasehold/sqlite");
  });

  it("a driver that is not installed is named, with the command that installs it", async () => {
    await bundle("missing-driver.mjs", "--format=esm", "--external:libsql");
    const { code, output } = await run("node", ["missing-driver.mjs", "better-sqlite3"], project.folder);
    expect(code).toBe(1);
    expect(output.trimEnd().endsWith("run `npm install better-sqlite3`.")).toBe(true);
  });
});

const bundleFile = (file: string, outfile: string, ...options: string[]): Promise<string> =>
  runWell(
    join(root, "node_modules/.bin/esbuild"),
    [file, "--bundle", "--platform=node", `--outfile=${outfile}`, ...options],
    project.folder,
  );

const bundle = (outfile: string, ...options: string[]): Promise<string> =>
  bundleFile("order.ts", outfile, ...options);

describe("bundled with esbuild", () => {
  it.each([
    ["an ES module with libsql outside", "bundle.mjs", ["--format=esm", "--external:libsql"]],
    ["a CommonJS module with no further option", "bundle.cjs", ["--format=cjs"]],
  ])("%s runs", async (_what, outfile, options) => {
    await bundle(outfile, ...options);
    expect(await runWell("node", [outfile], project.folder)).toBe(printed);
  });

  it("the dashboard brings its page along, as it has to for Next.js", async () => {
    cpSync(join(import.meta.dirname, "apps/page.ts"), join(project.folder, "page.ts"));
    await bundleFile("page.ts", "bundled/page.mjs", "--format=esm");
    const printed = await runWell("node", ["bundled/page.mjs"], project.folder);
    expect(printed).toBe("200 text/html; charset=utf-8\n");
  });

  it("an ES module with libsql inside says what to do", async () => {
    await bundle("inside.mjs", "--format=esm");
    const { code, output } = await run("node", ["inside.mjs"], project.folder);
    expect(code).toBe(1);
    expect(output).toContain('mark "libsql" as external');
  });
});

describe.each(["5.9", "7"] as const)("with TypeScript %s, strict, libraries checked too", (version) => {
  it("nodenext compiles every entry, and the programs run as ES module and as CommonJS", async () => {
    const outDir = `out-${version}`;
    const options = { module: "nodenext", moduleResolution: "nodenext", outDir };
    expect(await compile(version, project.folder, ["entries.ts", "order.mts", "order.cts"], options)).toBe(
      "",
    );
    expect(await runWell("node", [`${outDir}/order.mjs`], project.folder)).toBe(printed);
    expect(readFileSync(join(project.folder, outDir, "order.cjs"), "utf8")).toContain('require("leasehold")');
    expect(await runWell("node", [`${outDir}/order.cjs`], project.folder)).toBe(printed);
  });
});

it("with TypeScript 7, bundler compiles every entry", async () => {
  const options = { module: "esnext", moduleResolution: "bundler", noEmit: true };
  expect(await compile("7", project.folder, ["entries.ts", "order.ts"], options)).toBe("");
});

describe("the quick start on SQLite", () => {
  it("installs and runs as its page says", async () => {
    const folder = join(project.folder, "quickstart");
    mkdirSync(folder);
    cpSync(join(root, "examples/quickstart-sqlite"), folder, { recursive: true });
    await project.install(folder, [...project.tarballs.values()]);
    expect(await runWell("npm", ["start", "--silent"], folder)).toContain("Hello, Ada!");
    expect(existsSync(join(folder, "jobs.db"))).toBe(true);
    const list = await runWell(join(folder, "node_modules/.bin/leasehold"), ["list"], folder);
    expect(list).toContain("greet");
  });
});
