// What a release is for: publishes the packages to a registry on this machine, installs them from there in fresh projects with
// npm, pnpm and Bun, and runs the quick starts. Needs the npm registry for pnpm and Bun: `npm run test:release`.
import { startMongoTestServer } from "@leasehold/mongodb-test-server";
import { startPostgres } from "@leasehold/test-servers";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { packAll, publishedPackages, type Registry, root, startRegistry } from "./registry.ts";
import { run, runWell } from "./run.ts";

vi.setConfig({ testTimeout: 300_000 });

const tools = { bun: "1.4.4", pnpm: "12.18.0" };
const scratch = mkdtempSync(join(tmpdir(), "leasehold-release-"));
let registry: Registry;
let managers: Readonly<Record<"npm" | "pnpm" | "bun", readonly string[]>>;

/** The programs of each package manager, as the beginning of a command. */
const installManagers = async (folder: string): Promise<typeof managers> => {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: tools }));
  await runWell(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    folder,
  );
  const modules = join(folder, "node_modules");
  const platform = readdirSync(join(modules, "@oven"))[0]!;
  return {
    npm: ["npm"],
    pnpm: [join(modules, "@pnpm", `exe.${process.platform}-${process.arch}`, "pnpm")],
    bun: [join(modules, "@oven", platform, "bin/bun")],
  };
};

/** All three read it: where packages come from, and who publishes them. */
const writeSettings = (folder: string): void => {
  const host = registry.url.replace(/^http:/, "");
  const lines = [`registry=${registry.url}`, `${host}:_authToken=nothing`, `cache=${join(scratch, "cache")}`];
  writeFileSync(join(folder, ".npmrc"), `${lines.join("\n")}\n`);
};

beforeAll(async () => {
  const tarballs = await packAll(scratch);
  registry = await startRegistry(new Map(), join(scratch, "registry"));
  writeSettings(scratch);
  for (const tarball of tarballs.values()) {
    // Provenance is for the machine of the forge.
    await runWell("npm", ["publish", tarball, "--provenance=false"], scratch);
  }
  managers = await installManagers(join(scratch, "tools"));
}, 600_000);
afterAll(async () => {
  await registry.close();
  rmSync(scratch, { recursive: true, force: true });
}, 60_000);

const createProject = (name: string): string => {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeSettings(folder);
  return folder;
};

const createQuickstart = async (name: string, manager: keyof typeof managers): Promise<string> => {
  const folder = createProject(`${name}-${manager}`);
  cpSync(join(root, "examples", name), folder, { recursive: true });
  const [command, ...args] = managers[manager];
  await runWell(command!, [...args, "install"], folder);
  return folder;
};

describe.each(["npm", "pnpm", "bun"] as const)("installed with %s", (manager) => {
  const runScript = (folder: string, script: string, address = ""): Promise<string> =>
    runWell("env", [`DATABASE_URL=${address}`, ...managers[manager], "run", script], folder);

  it("the quick start on SQLite runs", async () => {
    const folder = await createQuickstart("quickstart-sqlite", manager);
    expect(await runScript(folder, "start")).toContain("Hello, Ada!");
    expect(await runWell("node_modules/.bin/leasehold", ["list"], folder)).toContain("greet");
  });

  it.each([
    [
      "quickstart-postgres",
      async () => {
        const server = await startPostgres();
        return { address: server.url, stop: () => server.stop() };
      },
    ],
    [
      "quickstart-mongodb",
      async () => {
        const server = await startMongoTestServer();
        const address = server.uri.replace(/^(mongodb:\/\/[^/?]+)\/?[^?]*/, "$1/shop");
        return { address, stop: () => server.stop() };
      },
    ],
  ])("the worker and the program of %s meet", async (name, startServer) => {
    const folder = await createQuickstart(name, manager);
    const { address, stop } = await startServer();
    try {
      await runScript(folder, "migrate", address);
      const env = { ...process.env, DATABASE_URL: address };
      const worker = spawn("node_modules/.bin/leasehold", ["worker", "run", "worker.js"], {
        cwd: folder,
        env,
      });
      const ended = new Promise((resolve) => worker.once("exit", resolve));
      try {
        expect(await runScript(folder, "start", address)).toContain("Hello, Ada!");
      } finally {
        worker.kill();
      }
      expect(await ended).toBe(0);
    } finally {
      await stop();
    }
  });
});

describe("the command alone", () => {
  it("installs no store and no dashboard", async () => {
    const folder = createProject("command");
    writeFileSync(join(folder, "package.json"), "{}");
    await runWell("npm", ["install", "@leasehold/cli"], folder);
    expect(readdirSync(join(folder, "node_modules/@leasehold"))).toEqual(["cli"]);
    expect(existsSync(join(folder, "node_modules/leasehold"))).toBe(true);
  });

  it("run by npx reports what to add, and works with it", async () => {
    const folder = createProject("npx");
    const list = ["leasehold", "migrate", "--store", "sqlite:./jobs.db"];
    const refused = await run("npx", ["--yes", "-p", "@leasehold/cli", ...list], folder);
    expect(refused.code).toBe(4);
    expect(refused.output).toContain("npx -p @leasehold/cli -p @leasehold/sqlite leasehold");
    await runWell("npx", ["--yes", "-p", "@leasehold/cli", "-p", "@leasehold/sqlite", ...list], folder);
    expect(existsSync(join(folder, "jobs.db"))).toBe(true);
  });
});

it("every package can be installed by its name", async () => {
  const folder = createProject("all");
  writeFileSync(join(folder, "package.json"), "{}");
  const names = publishedPackages.map(({ name }) => name);
  await runWell("npm", ["install", ...names, "@opentelemetry/api"], folder);
  expect(await runWell("npm", ["ls", ...names], folder)).not.toContain("invalid");
});
