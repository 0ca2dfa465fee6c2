// What docs/runtimes.md says works, beyond what every test run tries. Needs the npm registry: `npm run test:runtimes`.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { compile } from "./compile.ts";
import { createFreshProject, type FreshProject } from "./fresh-project.ts";
import { run, runWell } from "./run.ts";

// Compilers and other programs run here, beside other tests.
vi.setConfig({ testTimeout: 120_000 });

const tools = {
  bun: "1.4.4",
  deno: "2.9.6",
  jest: "30.5.2",
  vitest: "4.1.12",
  [`node-${process.platform}-${process.arch}`]: "26",
};
const printed = "receipt for order-1\n";

let project: FreshProject;
let programs: Readonly<Record<"bun" | "deno" | "node26" | "jest" | "vitest", string>>;

// Each comes as a binary inside an npm package for this platform; nothing is downloaded from elsewhere.
const installTools = async (folder: string): Promise<typeof programs> => {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: tools }));
  await runWell(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    folder,
  );
  const modules = join(folder, "node_modules");
  const only = (scope: string): string => join(modules, scope, readdirSync(join(modules, scope))[0]!);
  return {
    bun: join(only("@oven"), "bin/bun"),
    deno: join(only("@deno"), "deno"),
    node26: join(modules, `node-${process.platform}-${process.arch}/bin/node`),
    jest: join(modules, "jest/bin/jest.js"),
    vitest: join(modules, "vitest/vitest.mjs"),
  };
};

beforeAll(async () => {
  project = await createFreshProject();
  programs = await installTools(join(project.folder, "tools"));
}, 600_000);
afterAll(() => project.remove(), 60_000);

describe("runs TypeScript as it is", () => {
  it.each([
    ["bun", ["order.ts"]],
    ["bun", ["order.ts", "node:sqlite"]],
    ["deno", ["run", "--allow-all", "order.ts"]],
    ["deno", ["run", "--allow-all", "order.ts", "node:sqlite"]],
    ["node26", ["order.ts"]],
    ["node26", ["order.ts", "node:sqlite"]],
  ] as const)("%s %j", async (program, args) => {
    expect(await runWell(programs[program], args, project.folder)).toBe(printed);
  });
});

describe("TypeScript 5.9, further module resolutions", () => {
  it("bundler compiles every entry", async () => {
    const options = { module: "esnext", moduleResolution: "bundler", noEmit: true };
    expect(await compile("5.9", project.folder, ["entries.ts", "order.ts"], options)).toBe("");
  });

  it("node10, which knows no `exports`, finds the main entries", async () => {
    const options = { module: "commonjs", moduleResolution: "node10", noEmit: true };
    expect(await compile("5.9", project.folder, ["order.ts"], options)).toBe("");
  });
});

const body = `
test("a job runs on the kit", async () => {
  const kit = await createTestKit({ jobTypes: defineUnionJobTypes() });
  const worker = kit.leasehold.createWorker().implementJobType({ typeName: "greet", process: async () => "hello" });
  const { id } = await kit.leasehold.startJobSequence({ typeName: "greet", input: null });
  await kit.drain(worker);
  expect((await kit.leasehold.jobs.get({ id })).output).toBe("hello");
});

test("a store opens", async () => {
  const stateAdapter = await createSqliteStateAdapter({ file: ":memory:" });
  await stateAdapter.close();
});`;
const esm = `
import { defineUnionJobTypes } from "leasehold";
import { createTestKit } from "leasehold/testing";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
${body}`;
const commonJs = `
const { defineUnionJobTypes } = require("leasehold");
const { createTestKit } = require("leasehold/testing");
const { createSqliteStateAdapter } = require("@leasehold/sqlite");
${body}`;

const exitCode = async (command: string, args: readonly string[]): Promise<number> =>
  (await run(command, args, project.folder)).code;

describe("in a test runner", () => {
  beforeAll(() => {
    writeFileSync(join(project.folder, "esm.test.mjs"), esm);
    writeFileSync(join(project.folder, "common.test.cjs"), commonJs);
    const testMatch = ["<rootDir>/*.test.{mjs,cjs}"];
    writeFileSync(join(project.folder, "jest.config.json"), JSON.stringify({ testMatch, transform: {} }));
  });

  it("vitest", async () => {
    expect(await exitCode("node", [programs.vitest, "run", "--globals", "esm.test.mjs"])).toBe(0);
  });

  const vmModules = "--experimental-vm-modules";

  it("Jest with ES modules, which Jest has behind a flag", async () => {
    expect(await exitCode("node", [vmModules, programs.jest, "esm.test.mjs"])).toBe(0);
    expect(await exitCode(programs.node26, [vmModules, programs.jest, "esm.test.mjs"])).toBe(0);
  });

  it("Jest with require, with the same flag from Node.js 24.9 on", async () => {
    expect(await exitCode(programs.node26, [vmModules, programs.jest, "common.test.cjs"])).toBe(0);
  });

  it("not Jest with require on older versions, and Jest says so", async () => {
    const { code, output } = await run("node", [vmModules, programs.jest, "common.test.cjs"], project.folder);
    expect(code).not.toBe(0);
    expect(output).toContain("Must use import to load ES Module");
  });
});
