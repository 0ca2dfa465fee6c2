// The mount in Next.js as docs/dashboard.md has it, with Next.js itself: `npm run test:next`. It needs no network: the compiler of
// Next.js is a package, its fonts are not used, and its telemetry is off.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFreshProject, type FreshProject } from "./fresh-project.ts";
import { root } from "./registry.ts";
import { runWell } from "./run.ts";

const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8")) as { version: string })
    .version;

const writeApp = (folder: string): void => {
  const route = join(folder, "app/ops/jobs/[[...path]]");
  mkdirSync(route, { recursive: true });
  const documented = readFileSync(join(root, "packages/dashboard/examples/next.ts"), "utf8");
  writeFileSync(
    join(route, "route.ts"),
    documented.replace("./app-dashboard.ts", "../../../../dashboard.ts"),
  );
  cpSync(join(import.meta.dirname, "apps/next-dashboard.ts"), join(folder, "dashboard.ts"));
  const dependencies = Object.fromEntries(
    ["next", "react", "react-dom", "typescript", "@types/node"].map((name) => [name, versionOf(name)]),
  );
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", dependencies }));
  const compilerOptions = {
    target: "es2023",
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts"] }));
};

let project: FreshProject;
let folder: string;
let server: ChildProcess | undefined;
let origin: string;

const start = async (): Promise<string> => {
  server = spawn("node_modules/.bin/next", ["start", "--port", "0", "--hostname", "127.0.0.1"], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" },
  });
  for await (const line of createInterface({ input: server.stdout! })) {
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error("Next.js did not start.");
};

beforeAll(async () => {
  project = await createFreshProject();
  // Not within the other project: Next.js takes the folder with the outermost lock file for the root.
  folder = join(project.folder, "../next");
  writeApp(folder);
  await project.install(folder, [...project.tarballs.values()]);
  await runWell("env", ["NEXT_TELEMETRY_DISABLED=1", "node_modules/.bin/next", "build"], folder);
  origin = await start();
}, 600_000);

afterAll(async () => {
  if (server?.exitCode === null) {
    const ended = new Promise((resolve) => server!.once("exit", resolve));
    server.kill();
    await ended;
  }
  await project.remove();
}, 60_000);

const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(`${origin}/ops/jobs${path}`, init);

describe("mounted in Next.js, built with no setting of its own", () => {
  it("serves the page and its files", async () => {
    const page = await ask("/");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const script = /src="\/ops\/jobs(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1];
    const file = await ask(script!);
    expect([file.status, (await file.text()).length > 1_000]).toEqual([200, true]);
  });

  it("reads, and acts with a body", async () => {
    const { jobs } = (await (await ask("/api/v1/jobs")).json()) as { jobs: { id: string }[] };
    expect(jobs).toMatchObject([{ typeName: "greet" }]);
    const plan = await ask("/api/v1/plans/cancel", {
      method: "POST",
      headers: { "content-type": "application/json", "x-leasehold": "1" },
      body: JSON.stringify({ ids: [jobs[0]!.id] }),
    });
    expect(await plan.json()).toMatchObject({ preview: { changed: 1 } });
  });

  it("streams events", async () => {
    const { body, headers } = await ask("/api/v1/events?topic=backlog");
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const reader = body!.getReader();
    let received = "";
    while (!received.includes('"typeName":"greet"')) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended after: ${received}`);
      received += new TextDecoder().decode(value);
    }
    await reader.cancel();
  });
});
