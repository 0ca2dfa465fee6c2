// The example for Next.js, built and served by Next.js itself. Needs the npm registry: `npm run test:runtimes`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createFreshProject, type FreshProject } from "./fresh-project.ts";
import { root } from "./registry.ts";
import { runWell } from "./run.ts";

let project: FreshProject;
beforeAll(async () => {
  project = await createFreshProject();
}, 600_000);
afterAll(() => project.remove(), 60_000);

it("next build and next start run the example, with a worker from instrumentation.ts", async () => {
  const folder = join(project.folder, "nextjs");
  cpSync(join(root, "examples/nextjs"), folder, { recursive: true });
  const dependencies = { next: "16.4.6", react: "19", "react-dom": "19" };
  const devDependencies = { typescript: "5.9", "@types/react": "19", "@types/node": "20" };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, dependencies, devDependencies }),
  );
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await runWell("npm", ["install", ...quiet], folder);
  const next = join(folder, "node_modules/next/dist/bin/next");
  process.env["NEXT_TELEMETRY_DISABLED"] = "1";
  expect(await runWell("node", [next, "build"], folder)).toContain("/api/orders");

  const server = spawn("node", [next, "start", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let printed = "";
    while (!/http:\/\/localhost:(\d+)/.test(printed)) {
      const [chunk] = (await once(server.stdout, "data")) as [Buffer];
      printed += chunk.toString();
    }
    const url = `http://localhost:${/localhost:(\d+)/.exec(printed)![1]}/api`;
    const started = await fetch(`${url}/orders`, {
      method: "POST",
      body: JSON.stringify({ orderId: "o-1" }),
    });
    expect(started.status).toBe(202);
    const { id } = (await started.json()) as { id: string };
    const done = await fetch(`${url}/orders?id=${id}`);
    expect(await done.json()).toEqual({ output: "receipt for o-1" });
    const run = await fetch(`${url}/jobs`);
    expect(await run.json()).toMatchObject({ isIdle: true, clean: true });
  } finally {
    server.kill();
    await once(server, "exit");
  }
}, 600_000);
